-- Every statement the library runs, by name. One statement each, without its semicolon; no brackets, no backslashes.
-- cmake/Sql.cmake makes a table of them.

-- name: begin_write
BEGIN IMMEDIATE
-- name: commit
COMMIT
-- name: rollback
ROLLBACK

-- name: root_put
INSERT INTO roots (path, added_ns) VALUES (?1, ?2) ON CONFLICT (path) DO NOTHING
-- name: root_scanned
UPDATE roots SET scanned_ns = ?2 WHERE path = ?1 AND away_ns = 0
-- name: root_seen
UPDATE roots SET away_ns = 0, device = ?2 WHERE path = ?1
-- name: root_away
UPDATE roots SET away_ns = ?2 WHERE path = ?1 AND away_ns = 0
-- name: root_drop
DELETE FROM roots WHERE path = ?1
-- name: roots_all
SELECT path, scanned_ns, away_ns, device FROM roots ORDER BY path
-- name: relocate_known
SELECT count(*) FROM files WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: relocate_conflict
SELECT o.id, o.path, po.model, n.id, pn.model FROM files o
JOIN files n ON n.path = iif(o.path = ?1, ?4, CAST(?5 || substr(o.path, ?6) AS BLOB))
LEFT JOIN parts po ON po.file = o.id AND po.entry = 1 LEFT JOIN parts pn ON pn.file = n.id AND pn.entry = 1
WHERE o.path >= ?7 AND o.path < ?3 AND (o.path = ?1 OR o.path >= ?2) ORDER BY o.path LIMIT 1
-- name: relocate_agree
SELECT EXISTS (SELECT 1 FROM models o JOIN models n ON n.size_bytes = o.size_bytes AND n.sample = o.sample
               WHERE o.id = ?1 AND n.id = ?2 AND o.id <> n.id AND n.presence = 'present' AND n.note = '' AND n.named = 0
                 AND coalesce(n.set_type, n.set_base, n.set_variant) IS NULL
                 AND NOT EXISTS (SELECT 1 FROM tags t WHERE t.model = n.id))
-- name: relocate_point
UPDATE OR IGNORE parts SET file = ?2 WHERE file = ?1
-- name: relocate_unpoint
DELETE FROM parts WHERE file = ?1
-- name: file_drop_partless
DELETE FROM files WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.file = ?1)
-- name: file_has_parts
SELECT EXISTS (SELECT 1 FROM parts WHERE file = ?1)
-- name: relocate_files
UPDATE files SET path = iif(path = ?1, ?4, CAST(?5 || substr(path, ?6) AS BLOB)), file_id = zeroblob(16), members = NULL
WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: relocate_models
UPDATE models SET path = iif(path = ?1, ?4, CAST(?5 || substr(path, ?6) AS BLOB))
WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: relocate_items
UPDATE OR IGNORE job_items SET path = iif(path = ?1, ?4, CAST(?5 || substr(path, ?6) AS BLOB))
WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: relocate_roots
UPDATE OR IGNORE roots SET path = iif(path = ?1, ?4, CAST(?5 || substr(path, ?6) AS BLOB)), away_ns = 0, device = NULL
WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: relocate_roots_left
DELETE FROM roots WHERE path = ?1 OR (path >= ?2 AND path < ?3)
-- name: root_sums
SELECT count(*), coalesce(sum(size_bytes), 0) FROM models WHERE presence <> 'missing' AND id IN (
    SELECT p.model FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1
    WHERE f.path = ?1 OR (f.path >= ?2 AND f.path < ?3))

-- name: known_under
SELECT f.path, f.size, f.mtime_ns, f.file_id, f.weak, f.present, f.members, f.id, p.model,
       CASE WHEN p.model IS NULL THEN EXISTS (SELECT 1 FROM parts q WHERE q.file = f.id)
            ELSE m.presence <> 'crashed' AND (m.state = 'unreadable' OR (m.sample IS NULL AND
                 (m.state NOT IN ('unsupported', 'damaged') OR m.container NOT IN ('diffusers', 'transformers')))) END,
       f.device,
       f.present = 0 AND EXISTS (SELECT 1 FROM parts q JOIN models o ON o.id = q.model
                                 WHERE q.file = f.id AND o.presence = 'offline'),
       m.unsettled IS NOT NULL, m.container IN ('diffusers', 'transformers')
FROM files f LEFT JOIN parts p ON p.file = f.id AND p.entry = 1 LEFT JOIN models m ON m.id = p.model
WHERE f.path = ?1 OR (f.path >= ?2 AND f.path < ?3)
-- name: file_put
INSERT INTO files (path, size, mtime_ns, device, file_id, links, weak, present, members)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8)
ON CONFLICT (path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, device = excluded.device,
    file_id = excluded.file_id, links = excluded.links, weak = excluded.weak, present = 1, members = excluded.members
RETURNING id
-- name: file_add
INSERT INTO files (path, size, mtime_ns, device, file_id, links, weak, present, members)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8)
ON CONFLICT (path) DO UPDATE SET present = 1
RETURNING id
-- name: file_missing
UPDATE files SET present = 0 WHERE id = ?1
-- name: file_unconfirmed
UPDATE files SET present = 0 WHERE path = ?1
-- name: file_back
UPDATE files SET present = 1, device = ?2 WHERE id = ?1
-- name: files_forget_plain
UPDATE files SET size = -1, members = NULL WHERE id IN (SELECT p.file FROM parts p WHERE p.model = ?1 AND p.entry = 0
    AND NOT EXISTS (SELECT 1 FROM parts q WHERE q.file = p.file AND q.model <> ?1))
-- name: files_forget_of
UPDATE files SET size = -1, members = NULL WHERE id IN (SELECT p.file FROM parts p WHERE p.model = ?1
    AND NOT EXISTS (SELECT 1 FROM parts q WHERE q.file = p.file AND q.model <> ?1))
-- name: files_drop_forgotten
DELETE FROM files WHERE size < 0 AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.file = files.id)
-- name: files_drop_gone
DELETE FROM files WHERE present = 0 AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.file = files.id)
    AND (path = ?1 OR (path >= ?2 AND path < ?3))
-- name: files_forget_aside
UPDATE files SET size = 0, mtime_ns = 0, members = NULL
WHERE path IN (SELECT path FROM job_items WHERE job = ?1 AND state = 'aside')
-- name: entry_of_path
SELECT f.id, f.size, f.mtime_ns, f.file_id, f.weak, f.present, f.members, p.model, f.device
FROM files f LEFT JOIN parts p ON p.file = f.id AND p.entry = 1 WHERE f.path = ?1
-- name: same_file
SELECT p.model FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1 JOIN models m ON m.id = p.model
WHERE f.file_id = ?1 AND f.size = ?2 AND f.mtime_ns = ?3 AND f.device = ?4 AND f.weak = 0
  AND m.part_count = 1 AND p.position = 0 AND m.sample = ?5
UNION ALL
SELECT o.model FROM former o JOIN models m ON m.id = o.model
WHERE o.file_id = ?1 AND o.size = ?2 AND o.mtime_ns = ?3 AND o.device = ?4 AND m.part_count = 1 AND m.sample = ?5
-- name: set_of_part
SELECT p.model FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = p.model
WHERE f.path = ?1 AND p.position = 0 AND m.part_count = ?2 AND m.part_count > 1 AND m.size_bytes = ?3 AND m.sample = ?4
-- name: part_as_known
SELECT f.size, f.mtime_ns, f.file_id, f.weak FROM files f JOIN parts p ON p.file = f.id
WHERE p.model = ?1 AND p.position >= 0 AND f.path = ?2
-- name: former_put
INSERT OR REPLACE INTO former (model, file_id, device, size, mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5)
-- name: former_drop
DELETE FROM former WHERE model = ?1
-- name: other_paths
SELECT count(*) FROM parts p JOIN files f ON f.id = p.file
WHERE p.model = ?1 AND p.position = ?2 AND f.path <> ?3 AND f.present = 1 AND (f.file_id <> ?4 OR f.size <> ?5)

-- name: model_put
INSERT INTO models (name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample,
                    message, added_ns, updated_ns, answer, unsettled)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14, ?15)
-- name: model_update
UPDATE models SET name = iif(named, name, ?1), type = coalesce(set_type, ?2), base = coalesce(set_base, ?3),
    variant = coalesce(set_variant, ?4), container = ?5, state = ?6, presence = ?7, size_bytes = ?8, part_count = ?9,
    path = ?10, sample = coalesce(?11, iif(?6 = 'unreadable', sample, NULL)), message = ?12, updated_ns = ?13, answer = ?14, missing_ns = 0
WHERE id = ?15
-- name: model_before
SELECT size_bytes, sample, state, part_count FROM models WHERE id = ?1
-- name: twins_of
SELECT EXISTS (SELECT 1 FROM models m JOIN models o ON o.size_bytes = m.size_bytes AND o.sample = m.sample AND o.id <> m.id
               WHERE m.id = ?1 AND o.unsettled IS NULL)
-- name: never_sampled_nor_spoken_of
SELECT sample IS NULL AND note = '' AND named = 0 AND coalesce(set_type, set_base, set_variant) IS NULL
       AND NOT EXISTS (SELECT 1 FROM tags t WHERE t.model = models.id)
       AND NOT EXISTS (SELECT 1 FROM hashes h WHERE h.model = models.id), state = 'unreadable' FROM models WHERE id = ?1
-- name: model_show_path
SELECT f.path, m.container IN ('diffusers', 'transformers') FROM models m JOIN parts p ON p.model = m.id AND p.entry = 1
JOIN files f ON f.id = p.file
WHERE m.id = ?1 AND m.path NOT IN (SELECT g.path FROM parts q JOIN files g ON g.id = q.file
                                   WHERE q.model = ?1 AND q.entry = 1 AND g.present = 1)
ORDER BY f.present DESC, f.path LIMIT 1
-- name: model_move
UPDATE models SET path = ?2, name = iif(named, name, ?3) WHERE id = ?1
-- name: model_drop
DELETE FROM models WHERE id = ?1
-- name: entries
SELECT count(*) FROM parts WHERE model = ?1 AND entry = 1
-- name: model_presence
UPDATE models SET presence = ?2, updated_ns = ?3, missing_ns = iif(missing_ns, missing_ns, ?4)
WHERE id = ?1 AND presence <> ?2
-- name: model_back
UPDATE models SET presence = 'present', updated_ns = ?2, missing_ns = 0 WHERE id = ?1 AND presence IN ('missing', 'offline')
-- name: model_whole
SELECT coalesce(max(p.entry = 1 AND f.present = 1), 0) AND count(DISTINCT iif(p.position < 0, NULL, p.position))
       = count(DISTINCT iif(p.position < 0 OR f.present = 0, NULL, p.position))
FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1
-- name: model_is_away
SELECT EXISTS (SELECT 1 FROM parts p JOIN files f ON f.id = p.file JOIN roots r ON r.away_ns <> 0
    WHERE p.model = ?1 AND f.present = 0 AND substr(f.path, 1, length(r.path)) = r.path
      AND (substr(f.path, length(r.path) + 1, 1) IN (x'', x'2f', x'5c') OR substr(r.path, -1) IN (x'2f', x'5c')))
-- name: models_of_file
SELECT model FROM parts WHERE file = ?1
-- name: part_put
INSERT INTO parts (model, file, position, entry) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (model, file) DO UPDATE SET position = excluded.position, entry = max(entry, excluded.entry)
-- name: part_join
INSERT INTO parts (model, file, position, entry) VALUES (?1, ?2, ?3, 1) ON CONFLICT (model, file) DO UPDATE SET entry = 1
-- name: parts_drop_plain
DELETE FROM parts WHERE model = ?1 AND entry = 0
-- name: part_drop
DELETE FROM parts WHERE model = ?1 AND file = ?2
-- name: parts_drop_all
DELETE FROM parts WHERE model = ?1
-- name: parts_left_behind
DELETE FROM parts WHERE (model, file) IN (
    SELECT p.model, p.file FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = p.model
    WHERE f.present = 0 AND (f.path = ?1 OR (f.path >= ?2 AND f.path < ?3)) AND m.presence = 'present'
      AND EXISTS (SELECT 1 FROM parts q JOIN files g ON g.id = q.file
                  WHERE q.model = p.model AND g.present = 1 AND (q.position = p.position OR (p.position < 0 AND q.entry = 1))))
-- name: hashes_drop_other
DELETE FROM hashes WHERE model = ?1 AND NOT EXISTS (
    SELECT 1 FROM parts p JOIN files f ON f.id = p.file
    WHERE p.model = ?1 AND p.position = hashes.position AND f.size = hashes.size
      AND abs(f.mtime_ns - hashes.mtime_ns) < iif(f.weak, 2000000000, 1))
-- name: event_put
INSERT INTO events (at_ns, job, model, what, detail) VALUES (?1, ?2, ?3, ?4, ?5)
-- name: unsettled_adopt
UPDATE models SET unsettled = ?1 WHERE unsettled IS NOT NULL AND unsettled <> ?1 AND unsettled NOT IN (
    SELECT id FROM jobs WHERE state = 'running'
        OR (state IN ('queued', 'interrupted', 'paused') AND key <> (SELECT key FROM jobs WHERE id = ?1)))
-- name: model_unsettle
UPDATE models SET unsettled = ?2 WHERE id = ?1
-- name: unsettled_settle
UPDATE models SET unsettled = NULL WHERE unsettled = ?1
-- name: relink_sure
SELECT m.id, u.id FROM models u JOIN models m ON m.size_bytes = u.size_bytes AND m.sample = u.sample
WHERE u.unsettled = ?1 AND u.presence = 'present' AND m.presence = 'missing' AND m.unsettled IS NULL
  AND u.note = '' AND u.named = 0 AND coalesce(u.set_type, u.set_base, u.set_variant) IS NULL
  AND NOT EXISTS (SELECT 1 FROM tags t WHERE t.model = u.id)
  AND 1 = (SELECT count(*) FROM (SELECT 1 FROM models x WHERE x.size_bytes = u.size_bytes AND x.sample = u.sample
           AND x.presence = 'missing' AND x.unsettled IS NULL LIMIT 2))
  AND 1 = (SELECT count(*) FROM (SELECT 1 FROM models x WHERE x.size_bytes = u.size_bytes AND x.sample = u.sample
           AND x.presence = 'present' AND x.unsettled = ?1 LIMIT 2))
  AND u.id > ?2
ORDER BY u.id LIMIT 1
-- name: relink_presence
SELECT presence, unsettled IS NOT NULL FROM models WHERE id = ?1
-- name: relink_proposals
SELECT m.id, m.name, m.path, m.presence, c.id, c.name, c.path, 'same_bytes' FROM models m
JOIN models c ON c.size_bytes = m.size_bytes AND c.sample = m.sample AND c.presence = 'present' AND c.unsettled IS NULL
WHERE m.presence <> 'present' AND m.presence IN ('missing', 'offline')
  AND (c.added_ns >= m.missing_ns OR m.note <> '' OR m.named = 1
       OR coalesce(m.set_type, m.set_base, m.set_variant) IS NOT NULL
       OR EXISTS (SELECT 1 FROM tags t WHERE t.model = m.id)
       OR EXISTS (SELECT 1 FROM events e WHERE e.model = c.id AND e.what = 'changed' AND e.at_ns >= m.missing_ns))
UNION ALL
SELECT m.id, m.name, m.path, m.presence, c.id, c.name, c.path, 'same_path' FROM models m
JOIN files f ON f.path = m.path JOIN parts p ON p.file = f.id AND p.entry = 1
JOIN models c ON c.id = p.model AND c.presence = 'present' AND c.unsettled IS NULL
WHERE m.presence <> 'present' AND m.presence = 'missing' AND c.id <> m.id
  AND ((c.size_bytes = m.size_bytes AND c.sample = m.sample) OR m.note <> '' OR m.named = 1 OR coalesce(m.set_type, m.set_base, m.set_variant) IS NOT NULL
       OR EXISTS (SELECT 1 FROM tags t WHERE t.model = m.id))
ORDER BY 3, 1, 8, 7
-- name: missing_ids
SELECT id FROM models WHERE presence <> 'present' AND presence IN ('missing', 'offline') ORDER BY path, id
-- name: relink_take
UPDATE models SET (name, named, type, base, variant, set_type, set_base, set_variant, container, state, presence,
                   size_bytes, part_count, path, sample, message, answer, note, missing_ns, updated_ns)
    = (SELECT iif(models.named, models.name, c.name), max(models.named, c.named), coalesce(models.set_type, c.type),
              coalesce(models.set_base, c.base), coalesce(models.set_variant, c.variant),
              coalesce(models.set_type, c.set_type), coalesce(models.set_base, c.set_base),
              coalesce(models.set_variant, c.set_variant), c.container, c.state, c.presence, c.size_bytes, c.part_count,
              c.path, c.sample, c.message, c.answer,
              CASE WHEN c.note = '' OR c.note = models.note THEN models.note WHEN models.note = '' THEN c.note
                   ELSE models.note || char(10) || c.note END, 0, ?3
       FROM models c WHERE c.id = ?2)
WHERE id = ?1
-- name: relink_tags
INSERT OR IGNORE INTO tags (model, tag) SELECT ?1, tag FROM tags WHERE model = ?2
-- name: relink_parts
UPDATE parts SET model = ?1 WHERE model = ?2
-- name: relink_hashes_drop
DELETE FROM hashes WHERE model = ?1 AND NOT EXISTS (
    SELECT 1 FROM models m JOIN models c ON c.size_bytes = m.size_bytes AND c.sample = m.sample
    WHERE m.id = ?1 AND c.id = ?2)
-- name: relink_hashes
UPDATE OR REPLACE hashes SET model = ?1 WHERE model = ?2

-- name: job_put
INSERT INTO jobs (kind, state, key, paths, queued_ns, started_ns) VALUES (?1, 'running', ?2, ?3, ?4, ?4)
-- name: jobs_of_key
SELECT id, state FROM jobs WHERE key = ?1 AND state IN ('queued', 'running', 'interrupted') ORDER BY id
-- name: jobs_running
SELECT id FROM jobs WHERE state = 'running'
-- name: jobs_open
SELECT id FROM jobs WHERE state IN ('queued', 'running', 'interrupted') ORDER BY id LIMIT 4096
-- name: job_adopt
UPDATE jobs SET state = 'running', started_ns = ?2, ended_ns = 0, error = '' WHERE id = ?1
-- name: job_state
SELECT state FROM jobs WHERE id = ?1
-- name: job_queued
SELECT queued_ns FROM jobs WHERE id = ?1
-- name: job_end
UPDATE jobs SET state = ?2, ended_ns = ?3, error = ?4 WHERE id = ?1
-- name: job_drop
DELETE FROM jobs WHERE id = ?1
-- name: jobs_superseded
UPDATE jobs SET state = 'done', ended_ns = ?2
WHERE id <> ?1 AND state IN ('queued', 'interrupted') AND key = (SELECT key FROM jobs WHERE id = ?1)
-- name: job_set_state
UPDATE jobs SET state = ?2 WHERE id = ?1
-- name: job_items_total
UPDATE jobs SET items = items_done + (SELECT count(*) FROM job_items WHERE job = ?1 AND state <> 'aside') WHERE id = ?1
-- name: job_advance
UPDATE jobs SET items_done = items_done + ?2 WHERE id = ?1
-- name: job_get
SELECT id, kind, state, paths, queued_ns, started_ns, ended_ns, items, items_done, error, bytes, bytes_done FROM jobs
WHERE id = ?1
-- name: job_ids
SELECT id FROM (SELECT id FROM jobs ORDER BY id DESC LIMIT 4096) ORDER BY id

-- name: item_queue
INSERT INTO job_items (job, path, state) VALUES (?1, ?2, 'queued') ON CONFLICT (job, path) DO UPDATE SET state = 'queued'
-- name: item_reading
UPDATE job_items SET state = 'reading' WHERE job = ?1 AND path = ?2
-- name: item_done
DELETE FROM job_items WHERE job = ?1 AND path = ?2
-- name: item_aside
UPDATE job_items SET state = 'aside' WHERE job = ?1 AND path = ?2
-- name: items_died
UPDATE job_items SET state = 'queued', deaths = deaths + 1 WHERE job = ?1 AND state = 'reading'
-- name: items_rest
UPDATE job_items SET state = 'queued' WHERE job = ?1 AND state = 'reading'
-- name: items_finish
DELETE FROM job_items WHERE job = ?1 AND state <> 'aside'
-- name: items_superseded
DELETE FROM job_items WHERE state <> 'aside' AND job IN (
    SELECT id FROM jobs WHERE id <> ?1 AND state IN ('queued', 'interrupted') AND key = (SELECT key FROM jobs WHERE id = ?1))
-- name: items_cleared
DELETE FROM job_items WHERE job <> ?1 AND path = ?2 AND state = 'queued' AND deaths > 0
   AND job NOT IN (SELECT id FROM jobs WHERE kind = 'hash')
-- name: items_suspect
SELECT path, max(deaths) FROM job_items WHERE deaths > 0 AND state = 'queued' GROUP BY path
-- name: items_drop
DELETE FROM job_items WHERE job = ?1

-- name: hash_job_open
SELECT id, state FROM jobs WHERE key = ?1 AND kind = 'hash' AND state IN ('queued', 'running', 'interrupted', 'paused', 'failed')
ORDER BY id DESC LIMIT 1
-- name: hash_job_put
INSERT INTO jobs (kind, state, key, paths, queued_ns) VALUES ('hash', 'queued', ?1, ?2, ?3)
-- name: hash_job_total
UPDATE jobs SET (items, bytes) = (SELECT jobs.items_done + count(*), jobs.bytes_done + coalesce(sum(i.bytes), 0)
                                  FROM job_items i WHERE i.job = ?1 AND i.state <> 'aside') WHERE id = ?1
-- name: hash_job_advance
UPDATE jobs SET items_done = items_done + 1, bytes_done = bytes_done + ?2, bytes = bytes - ?3, spent_ns = spent_ns + ?4
WHERE id = ?1
-- name: hash_job_sums
SELECT items, items_done, bytes, bytes_done, state FROM jobs WHERE id = ?1
-- name: hash_speed
SELECT bytes_done, spent_ns FROM jobs WHERE kind = 'hash' AND bytes_done > 1000000000 AND spent_ns > 0 ORDER BY id DESC LIMIT 1
-- name: hash_lacks_under
SELECT 1 FROM files e JOIN parts q ON q.file = e.id AND q.entry = 1 JOIN hashable h ON h.model = q.model
WHERE (e.path = ?1 OR (e.path >= ?2 AND e.path < ?3)) AND ?4 & h.can & ~h.have <> 0
   AND NOT EXISTS (SELECT 1 FROM job_items a WHERE a.path = h.path AND a.state = 'aside' AND a.bytes = h.size) LIMIT 1
-- name: hash_items_under
INSERT INTO job_items (job, path, state, bytes, wanted)
SELECT ?5, min(h.path), 'queued', h.size, ?4
FROM files e JOIN parts q ON q.file = e.id AND q.entry = 1 JOIN hashable h ON h.model = q.model
WHERE (e.path = ?1 OR (e.path >= ?2 AND e.path < ?3)) AND ?4 & h.can & ~h.have <> 0
  AND NOT EXISTS (SELECT 1 FROM job_items a WHERE a.path = h.path AND a.state = 'aside' AND a.bytes = h.size)
GROUP BY h.model, h.position
ON CONFLICT (job, path) DO UPDATE SET wanted = wanted | excluded.wanted, bytes = excluded.bytes,
    deaths = iif(state = 'aside', 0, deaths), state = iif(state = 'aside', 'queued', state)
WHERE bytes <> excluded.bytes OR wanted & excluded.wanted <> excluded.wanted OR state = 'aside'
-- name: hash_items_all
INSERT INTO job_items (job, path, state, bytes, wanted)
SELECT ?2, min(h.path), 'queued', h.size, ?1 FROM hashable h WHERE ?1 & h.can & ~h.have <> 0 GROUP BY h.model, h.position
ON CONFLICT (job, path) DO NOTHING
-- name: hash_next
SELECT path, wanted, deaths, bytes FROM job_items WHERE job = ?1 AND state = 'queued' AND deaths = 0 ORDER BY path LIMIT 1
-- name: hash_next_suspect
SELECT path, wanted, deaths, bytes FROM job_items WHERE job = ?1 AND state = 'queued' AND deaths > 0 ORDER BY path LIMIT 1
-- name: hash_file
SELECT id, size, mtime_ns, file_id, weak, present FROM files WHERE path = ?1
-- name: hash_parts
SELECT model, position, can, have FROM hashable WHERE file = ?1
-- name: hash_known
SELECT algorithm, value FROM hashes WHERE model = ?1 AND position = ?2 AND size = ?3 AND abs(mtime_ns - ?4) < ?5
-- name: hash_drop_stale
DELETE FROM hashes WHERE model = ?1 AND position = ?2 AND NOT (size = ?3 AND abs(mtime_ns - ?4) < ?5)
-- name: hash_put
INSERT INTO hashes (model, position, algorithm, value, size, mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (model, position, algorithm) DO UPDATE SET value = excluded.value, size = excluded.size, mtime_ns = excluded.mtime_ns
-- name: hash_event_put
INSERT INTO events (at_ns, job, model, what, detail) SELECT ?1, nullif(?2, 0), ?3, ?4, ?5
WHERE NOT EXISTS (SELECT 1 FROM events WHERE model = ?3 AND what = ?4 AND detail = ?5)
-- name: item_again
UPDATE job_items SET state = 'queued' WHERE job = ?1 AND path = ?2
-- name: items_again
UPDATE job_items SET state = 'queued', deaths = 0 WHERE job = ?1

-- name: act_put
INSERT INTO acts (event, kind, state, at_ns, ended_ns, model, name, undoes, bytes, keep)
VALUES (coalesce(nullif(?1, 0), (SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'acts')),
        ?2, ?3, ?4, iif(?3 = 'done', ?4, 0), ?5, ?6, nullif(?7, 0), ?8, ?9)
RETURNING id, event
-- name: act_step_put
INSERT INTO act_steps (act, position, shape, source, target, aside, size, mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (act, position) DO UPDATE SET target = excluded.target, aside = excluded.aside
-- name: act_state
UPDATE acts SET state = ?2, ended_ns = ?3, error = ?4 WHERE id = ?1
-- name: act_get
SELECT id, event, kind, state, at_ns, model, name, coalesce(undoes, 0), bytes, keep, error FROM acts WHERE id = ?1
-- name: act_steps_of
SELECT shape, source, target, aside, size, mtime_ns FROM act_steps WHERE act = ?1 ORDER BY position
-- name: acts_abandoned
SELECT id FROM acts WHERE state IN ('planned', 'placed') ORDER BY id DESC
-- name: acts_all
SELECT id FROM acts ORDER BY id
-- name: acts_of_event
SELECT id FROM acts WHERE event = ?1 ORDER BY id DESC
-- name: act_last_event
SELECT event FROM acts WHERE state = 'done' AND undoes IS NULL ORDER BY id DESC LIMIT 1
-- name: act_done_before
SELECT 1 FROM act_steps s JOIN acts a ON a.id = s.act
WHERE s.source = ?1 AND s.target = ?2 AND s.size = ?3 AND s.mtime_ns = ?4 AND a.state = 'done' LIMIT 1
-- name: act_model
SELECT id, name, part_count FROM models WHERE id = ?1
-- name: act_paths
SELECT f.path, p.position, p.entry, f.members IS NOT NULL FROM parts p JOIN files f ON f.id = p.file
WHERE p.model = ?1 ORDER BY p.entry DESC, p.position, f.path
-- name: act_others_at
SELECT p.model, m.name FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = p.model
WHERE (f.path = ?1 OR (f.path >= ?2 AND f.path < ?3)) AND p.model <> ?4 LIMIT 1
-- name: act_root_above
SELECT path FROM roots WHERE path = substr(?1, 1, length(path))
   AND (substr(?1, length(path) + 1, 1) IN (x'2f', x'5c') OR substr(path, -1) IN (x'2f', x'5c'))
ORDER BY length(path) DESC LIMIT 1
-- name: act_root_to
UPDATE OR REPLACE roots SET path = ?2 WHERE path = ?1
-- name: act_root_away
DELETE FROM roots WHERE path = ?1
-- name: act_files_at
SELECT id, path FROM files WHERE path = ?1 OR (path >= ?2 AND path < ?3) ORDER BY path
-- name: act_file_away
DELETE FROM files WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM parts WHERE file = ?1)
-- name: act_file_to
UPDATE files SET path = ?2, size = ?3, mtime_ns = ?4, device = ?5, file_id = ?6, links = ?7, weak = ?8, present = 1
WHERE id = ?1
-- name: act_file_members
UPDATE files SET members = ?2 WHERE path = ?1
-- name: act_hashes_follow
UPDATE hashes SET mtime_ns = ?2 WHERE size = ?3 AND mtime_ns = (SELECT mtime_ns FROM files WHERE id = ?1)
   AND EXISTS (SELECT 1 FROM parts p WHERE p.file = ?1 AND p.model = hashes.model AND p.position = hashes.position)
-- name: act_answer
UPDATE models SET answer = ?2 WHERE id = ?1 AND state <> 'unreadable'
-- name: act_parts_of_file
SELECT model, entry FROM parts WHERE file = ?1
-- name: act_keep_model
INSERT INTO removed_models (act, id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample, message, added_ns,
    updated_ns, answer, note, named, set_type, set_base, set_variant, missing_ns, unsettled)
SELECT ?2, id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample, message, added_ns,
    updated_ns, answer, note, named, set_type, set_base, set_variant, missing_ns, unsettled FROM models WHERE id = ?1
-- name: act_keep_files
INSERT INTO removed_files (act, path, size, mtime_ns, device, file_id, links, weak, present, members, position, entry)
SELECT ?2, f.path, f.size, f.mtime_ns, f.device, f.file_id, f.links, f.weak, f.present, f.members, p.position, p.entry
FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1 AND (?3 = 0 OR f.id = ?3)
-- name: act_keep_tags
INSERT INTO removed_tags (act, tag) SELECT ?2, tag FROM tags WHERE model = ?1
-- name: act_keep_hashes
INSERT INTO removed_hashes (act, position, algorithm, value, size, mtime_ns)
SELECT ?2, position, algorithm, value, size, mtime_ns FROM hashes WHERE model = ?1
-- name: act_back_model
INSERT INTO models (id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample, message, added_ns,
    updated_ns, answer, note, named, set_type, set_base, set_variant, missing_ns, unsettled)
SELECT id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample, message, added_ns,
    updated_ns, answer, note, named, set_type, set_base, set_variant, missing_ns, unsettled FROM removed_models WHERE act = ?1
-- name: act_back_tags
INSERT OR IGNORE INTO tags (model, tag) SELECT ?2, tag FROM removed_tags WHERE act = ?1
-- name: act_back_hashes
INSERT OR IGNORE INTO hashes (model, position, algorithm, value, size, mtime_ns)
SELECT ?2, position, algorithm, value, size, mtime_ns FROM removed_hashes WHERE act = ?1
-- name: act_back_files
SELECT path, size, mtime_ns, device, file_id, links, weak, members, position, entry FROM removed_files WHERE act = ?1
ORDER BY path
-- name: act_kept_model
SELECT id FROM removed_models WHERE act = ?1
-- name: act_kept_taken
SELECT p.model FROM removed_files r JOIN files f ON f.path = r.path JOIN parts p ON p.file = f.id
WHERE r.act = ?1 AND p.entry = 1 AND r.entry = 1 LIMIT 1
-- name: act_drop_kept_models
DELETE FROM removed_models WHERE act = ?1
-- name: act_drop_kept_files
DELETE FROM removed_files WHERE act = ?1
-- name: act_drop_kept_tags
DELETE FROM removed_tags WHERE act = ?1
-- name: act_drop_kept_hashes
DELETE FROM removed_hashes WHERE act = ?1
-- name: act_files_of_model
SELECT file FROM parts WHERE model = ?1

-- name: verify_all
SELECT id FROM models WHERE presence <> 'offline' ORDER BY path
-- name: verify_under
SELECT DISTINCT p.model FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1
WHERE f.path >= ?1 AND f.path < ?2 ORDER BY p.model
-- name: verify_bytes
SELECT coalesce(sum(size), 0) FROM (SELECT max(size) AS size FROM hashes WHERE model = ?1 GROUP BY position)
-- name: verify_model
SELECT path, presence FROM models WHERE id = ?1
-- name: verify_parts
SELECT p.position, min(f.path), f.weak FROM parts p JOIN files f ON f.id = p.file
WHERE p.model = ?1 AND p.position >= 0 AND f.present = 1 GROUP BY p.position
-- name: verify_hash
SELECT algorithm, value, size, mtime_ns FROM hashes
WHERE model = ?1 AND position = ?2 AND algorithm IN ('blake3', 'sha256', 'crc32') ORDER BY algorithm = 'crc32', algorithm LIMIT 1

-- name: scope_clear
DELETE FROM temp.scope
-- name: scope_add
INSERT OR IGNORE INTO temp.scope
SELECT p.model FROM main.files f JOIN main.parts p ON p.file = f.id
WHERE p.entry = 1 AND (f.path = ?1 OR (f.path >= ?2 AND f.path < ?3))
-- name: totals
SELECT m.base, m.type, count(*), sum(m.size_bytes) FROM temp.scope s JOIN main.models m ON m.id = s.model
WHERE m.presence IN ('present', 'crashed') GROUP BY m.base, m.type ORDER BY m.base = '', m.base, m.type
-- name: vanished_of_job
SELECT m.path, EXISTS (SELECT 1 FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1
                       WHERE f.path = m.path AND f.present = 1)
FROM models m WHERE m.presence <> 'present' AND m.presence = 'missing'
   AND EXISTS (SELECT 1 FROM events e WHERE e.model = m.id AND e.job = ?1 AND e.what = 'missing')
ORDER BY m.path
-- name: offline_below
SELECT count(*) FROM models WHERE presence <> 'present' AND presence = 'offline' AND id IN (
    SELECT p.model FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1
    WHERE f.path = ?1 OR (f.path >= ?2 AND f.path < ?3))
-- name: dry_model
SELECT base, type, size_bytes, path, state, presence, message FROM models WHERE id = ?1
-- name: problems
SELECT m.path, m.state, m.presence, m.message FROM temp.scope s JOIN main.models m ON m.id = s.model
WHERE (m.state IN ('damaged', 'dangerous', 'unreadable') OR m.presence = 'crashed') AND m.presence IN ('present', 'crashed')
ORDER BY m.path

-- name: list_of_base
SELECT id FROM models m WHERE base > '' AND (?1 IS NULL OR type = ?1) AND (?2 IS NULL OR base = ?2)
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR presence = ?5)
  AND (?3 IS NULL OR EXISTS (SELECT 1 FROM tags t WHERE t.model = m.id AND t.tag = ?3))
ORDER BY base, type, name COLLATE NOCASE, id LIMIT ?6
-- name: list_without_base
SELECT id FROM models m WHERE base = '' AND (?1 IS NULL OR type = ?1) AND ?2 IS NULL
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR presence = ?5)
  AND (?3 IS NULL OR EXISTS (SELECT 1 FROM tags t WHERE t.model = m.id AND t.tag = ?3))
ORDER BY type, name COLLATE NOCASE, id LIMIT ?6
-- name: record
SELECT id, name, path, type, base, variant, container, presence, message, answer, note, state, size_bytes, part_count,
       added_ns, set_type IS NOT NULL OR set_base IS NOT NULL OR set_variant IS NOT NULL
FROM models WHERE id = ?1
-- name: record_paths
SELECT f.path FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1 AND p.entry = 1 ORDER BY f.path
-- name: record_parts
SELECT min(f.path) FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1 AND p.position >= 0
GROUP BY p.position ORDER BY p.position
-- name: record_tags
SELECT tag FROM tags WHERE model = ?1 ORDER BY tag
-- name: record_hashes
SELECT h.position, h.algorithm, h.value, min(f.path) FROM hashes h
JOIN parts p ON p.model = h.model AND p.position = h.position JOIN files f ON f.id = p.file
WHERE h.model = ?1 AND f.size = h.size AND f.mtime_ns = h.mtime_ns
GROUP BY h.position, h.algorithm ORDER BY h.position, h.algorithm
-- name: find_id
SELECT id FROM models WHERE id = ?1
-- name: find_path
SELECT p.model FROM files f JOIN parts p ON p.file = f.id WHERE f.path = ?1 ORDER BY p.entry DESC LIMIT 1
-- name: find_name
SELECT id FROM models WHERE name = ?1 COLLATE NOCASE AND name = ?1 ORDER BY id
-- name: find_name_any_case
SELECT id FROM models WHERE name = ?1 COLLATE NOCASE ORDER BY id
-- name: find_file
SELECT m.id, m.path FROM words_texts JOIN models m ON m.id = words_texts.rowid WHERE words_texts MATCH ?1

-- name: settle_any
SELECT 1 FROM words_stale LIMIT 1
-- name: settle_ids
SELECT s.model FROM words_stale s JOIN models m ON m.id = s.model
-- name: settle_answer_of
SELECT answer FROM models WHERE id = ?1
-- name: settle_answer
UPDATE models SET answer = ?2 WHERE id = ?1
-- name: said_put
INSERT INTO said (number, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING
-- name: said_get
SELECT text FROM said WHERE number = ?1
-- name: words_unindex_names
INSERT INTO words_names (words_names, rowid, name)
SELECT 'delete', w.model, w.name FROM words_stale s JOIN words w ON w.model = s.model
-- name: words_unindex_texts
INSERT INTO words_texts (words_texts, rowid, text)
SELECT 'delete', w.model, w.text FROM words_stale s JOIN words w ON w.model = s.model
-- name: words_drop
DELETE FROM words WHERE model IN (SELECT model FROM words_stale)
-- name: words_put
INSERT INTO words (model, name, text)
SELECT m.id, m.name,
       CASE WHEN instr(CAST(m.path AS TEXT), m.name) = 0 THEN m.name || char(10) ELSE '' END ||
       CAST(m.path AS TEXT) || char(10) || CASE WHEN m.note <> '' THEN m.note || char(10) ELSE '' END ||
       CASE WHEN json_valid(m.answer) THEN coalesce(json_extract(m.answer, '$.metadata.title') || char(10), '') ||
            coalesce(json_extract(m.answer, '$.metadata.trigger_words') || char(10), '') ELSE '' END ||
       CASE WHEN m.base <> '' THEN char(2) || m.base || char(2) ELSE '' END ||
       CASE WHEN m.type <> '' THEN char(3) || m.type || char(3) ELSE '' END ||
       coalesce((SELECT char(1) || group_concat(t.tag, char(1)) || char(1) FROM tags t WHERE t.model = m.id), '')
FROM words_stale s JOIN models m ON m.id = s.model
-- name: words_index_names
INSERT INTO words_names (rowid, name) SELECT w.model, w.name FROM words_stale s JOIN words w ON w.model = s.model
-- name: words_index_texts
INSERT INTO words_texts (rowid, text) SELECT w.model, w.text FROM words_stale s JOIN words w ON w.model = s.model
-- name: words_settled
DELETE FROM words_stale

-- name: search_hash
SELECT h.model FROM hashes h
WHERE h.algorithm IN ('blake3', 'sha256', 'crc32', 'autov1', 'autov2', 'autov3', 'key_hash')
  AND substr(h.value, 1, 12) >= substr(?1, 1, 12) AND substr(h.value, 1, 12) < substr(?1, 1, 12) || 'g'
  AND substr(h.value, 1, length(?1)) = ?1
  AND EXISTS (SELECT 1 FROM parts p JOIN files f ON f.id = p.file WHERE p.model = h.model AND p.position = h.position
              AND f.size = h.size AND f.mtime_ns = h.mtime_ns)
UNION ALL
SELECT h.model FROM hashes h
WHERE h.algorithm = 'content'
  AND substr(h.value, 1, 12) >= substr('c1:' || ?1, 1, 12) AND substr(h.value, 1, 12) < substr('c1:' || ?1, 1, 12) || 'g'
  AND substr(h.value, 4, length(?1)) = ?1
  AND EXISTS (SELECT 1 FROM parts p JOIN files f ON f.id = p.file WHERE p.model = h.model AND p.position = h.position
              AND f.size = h.size AND f.mtime_ns = h.mtime_ns)
-- name: search_prefix
SELECT id FROM models WHERE name >= ?1 COLLATE NOCASE AND name < ?1 || char(1114111) COLLATE NOCASE
ORDER BY name COLLATE NOCASE, id
-- name: search_names
SELECT w.model, w.name FROM words_names JOIN words w ON w.model = words_names.rowid WHERE words_names MATCH ?1
-- name: search_texts
SELECT w.model, w.name, w.text FROM words_texts JOIN words w ON w.model = words_texts.rowid WHERE words_texts MATCH ?1
-- name: search_all_names
SELECT id, name FROM models INDEXED BY models_by_name WHERE ?1 IS NULL OR name LIKE ?1 ORDER BY name COLLATE NOCASE, id
-- name: search_all_texts
SELECT model, name, text FROM words WHERE ?1 IS NULL OR text LIKE ?1 OR name LIKE ?1 ORDER BY model
-- name: search_filter
SELECT 1 FROM models m WHERE id = ?6 AND (?1 IS NULL OR type = ?1) AND (?2 IS NULL OR base = ?2)
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR presence = ?5)
  AND (?3 IS NULL OR EXISTS (SELECT 1 FROM tags t WHERE t.model = m.id AND t.tag = ?3))

-- name: tag_put
INSERT INTO tags (model, tag) VALUES (?1, ?2) ON CONFLICT DO NOTHING
-- name: tag_drop
DELETE FROM tags WHERE model = ?1 AND tag = ?2
-- name: tags
SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY count(*) DESC, tag
-- name: tag_spellings
WITH RECURSIVE t (tag) AS (SELECT min(tag) FROM tags
                           UNION ALL SELECT (SELECT min(tag) FROM tags WHERE tag > t.tag) FROM t WHERE t.tag IS NOT NULL)
SELECT tag FROM t WHERE tag IS NOT NULL
-- name: model_note
UPDATE models SET note = ?2, updated_ns = ?3 WHERE id = ?1 AND note <> ?2
-- name: model_name
UPDATE models SET name = ?2, named = 1, updated_ns = ?3 WHERE id = ?1 AND (name <> ?2 OR named = 0)
-- name: model_set
UPDATE models SET set_type = coalesce(?2, set_type), set_base = coalesce(?3, set_base),
    set_variant = coalesce(?4, set_variant), updated_ns = ?5
WHERE id = ?1
-- name: model_set_auto
UPDATE models SET set_type = NULL, set_base = NULL, set_variant = NULL, updated_ns = ?2,
    type = coalesce(json_extract(answer, '$.type'), ''), base = coalesce(json_extract(answer, '$.base'), ''),
    variant = coalesce(json_extract(answer, '$.variant'), ''), state = coalesce(json_extract(answer, '$.state'), state)
WHERE id = ?1 AND (set_type IS NOT NULL OR set_base IS NOT NULL OR set_variant IS NOT NULL)
-- name: known_bases
SELECT DISTINCT base FROM models WHERE base <> ''
-- name: known_variants
SELECT DISTINCT variant FROM models WHERE variant <> ''

-- name: twins
SELECT m.id, m.name, m.path, m.size_bytes, m.sample,
       (SELECT CASE WHEN count(*) = m.part_count THEN group_concat(v, ' ') END FROM (
            SELECT h.value AS v FROM hashes h WHERE h.model = m.id AND h.algorithm = 'blake3' AND EXISTS (
                SELECT 1 FROM parts p JOIN files f ON f.id = p.file WHERE p.model = h.model AND p.position = h.position
                   AND f.size = h.size AND f.mtime_ns = h.mtime_ns)
            ORDER BY h.position)) AS bytes
FROM models m JOIN (SELECT size_bytes, sample FROM models WHERE sample IS NOT NULL AND size_bytes > 0
                    GROUP BY size_bytes, sample HAVING count(*) > 1) g
  ON m.size_bytes = g.size_bytes AND m.sample = g.sample
WHERE m.presence = 'present' ORDER BY m.size_bytes, m.sample, bytes, m.name, m.id

-- name: usage_roots
SELECT path FROM roots ORDER BY path
-- name: usage_files
SELECT f.path, f.size, f.device, f.file_id, f.weak FROM files f WHERE f.present = 1 AND EXISTS (
    SELECT 1 FROM parts p JOIN models m ON m.id = p.model
    WHERE p.file = f.id AND p.position >= 0 AND m.presence IN ('present', 'crashed'))
ORDER BY f.path
-- name: usage_models
SELECT path FROM models WHERE presence IN ('present', 'crashed') ORDER BY path
-- name: usage_by_base
SELECT base, count(*), sum(size_bytes) FROM models WHERE presence IN ('present', 'crashed') GROUP BY base
ORDER BY base = '', sum(size_bytes) DESC, base
-- name: usage_by_type
SELECT type, count(*), sum(size_bytes) FROM models WHERE presence IN ('present', 'crashed') GROUP BY type
ORDER BY type = '', sum(size_bytes) DESC, type

-- name: begin_read
BEGIN
-- name: dump_tables
SELECT t.name,
       printf('SELECT * FROM %s ORDER BY %s', t.name, CASE WHEN t.name = 'sqlite_sequence' THEN 'name' ELSE coalesce(
           (SELECT group_concat(printf('%s', c.name), ', ')
            FROM (SELECT name FROM pragma_table_info(t.name) WHERE pk > 0 ORDER BY pk) c), 'rowid') END),
       printf('INSERT INTO %s VALUES (%s)', t.name,
           (SELECT group_concat('?' || (cid + 1), ', ') FROM pragma_table_info(t.name)))
FROM sqlite_schema t
WHERE t.type = 'table' AND (t.name = 'sqlite_sequence' OR t.name NOT LIKE 'sqlite%') AND t.name NOT LIKE 'words%'
ORDER BY t.name = 'sqlite_sequence', t.name
-- name: restore_anything
SELECT 1 WHERE EXISTS (SELECT 1 FROM models) OR EXISTS (SELECT 1 FROM roots) OR EXISTS (SELECT 1 FROM jobs)
   OR EXISTS (SELECT 1 FROM files) OR EXISTS (SELECT 1 FROM events)
-- name: restore_defer
PRAGMA defer_foreign_keys = ON
-- name: restore_forget_sequences
DELETE FROM sqlite_sequence
-- name: restore_one_sequence
DELETE FROM sqlite_sequence AS s WHERE EXISTS (
    SELECT 1 FROM sqlite_sequence o WHERE o.name = s.name AND (o.seq > s.seq OR (o.seq = s.seq AND o.rowid < s.rowid)))
-- name: restore_wrong
SELECT 'a path is empty, too long, or has a NUL in it' WHERE EXISTS (
    SELECT 1 FROM (SELECT path FROM files UNION ALL SELECT path FROM models UNION ALL SELECT path FROM roots)
    WHERE length(path) NOT BETWEEN 1 AND 65535 OR instr(path, x'00') > 0)
UNION ALL SELECT 'a file id, size or digest is none' WHERE
    EXISTS (SELECT 1 FROM files WHERE length(file_id) <> 16 OR length(members) <> 32 OR size < 0) OR
    EXISTS (SELECT 1 FROM models WHERE length(sample) <> 32)
UNION ALL SELECT 'what answers share is no JSON' WHERE EXISTS (SELECT 1 FROM said WHERE NOT json_valid(text))
UNION ALL SELECT 'an answer is no object' WHERE EXISTS (
    SELECT 1 FROM models WHERE CASE WHEN json_valid(answer) THEN json_type(answer) ELSE '' END <> 'object')
UNION ALL SELECT 'an id is none' WHERE EXISTS (
    SELECT 1 FROM (SELECT id FROM models UNION ALL SELECT id FROM jobs UNION ALL SELECT id FROM files
                   UNION ALL SELECT id FROM events UNION ALL SELECT seq FROM sqlite_sequence WHERE seq <> 0)
    WHERE typeof(id) <> 'integer' OR id NOT BETWEEN 1 AND 4503599627370496)

-- name: check_pages
PRAGMA integrity_check(1)
-- name: check_references
PRAGMA foreign_key_check
-- name: check_names_index
INSERT INTO words_names (words_names, rank) VALUES ('integrity-check', 1)
-- name: check_texts_index
INSERT INTO words_texts (words_texts, rank) VALUES ('integrity-check', 1)
-- name: check_parts
SELECT count(*) FROM models m WHERE m.presence IN ('present', 'crashed')
   AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.model = m.id AND p.entry = 1)
-- name: check_positions
SELECT count(*) FROM models m
WHERE m.presence IN ('present', 'crashed') AND m.part_count <> (SELECT count(DISTINCT position) FROM parts p WHERE p.model = m.id AND p.position >= 0)
-- name: check_unsettled
SELECT count(*) FROM models
WHERE unsettled IS NOT NULL AND unsettled NOT IN (SELECT id FROM jobs WHERE state <> 'done')
-- name: check_forgotten
SELECT count(*) FROM files WHERE size < 0
-- name: check_paths
SELECT count(*) FROM (SELECT path FROM files GROUP BY path HAVING count(*) > 1)
-- name: check_items
SELECT count(*) FROM job_items i JOIN jobs j ON j.id = i.job
WHERE i.state <> 'aside' AND j.state IN ('done', 'cancelled')
-- name: check_twins
SELECT count(*) FROM (SELECT f.file_id, f.device, f.size, f.mtime_ns FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1
    JOIN models m ON m.id = p.model
    WHERE f.weak = 0 AND f.present = 1 AND f.file_id <> zeroblob(16) AND m.part_count = 1 AND p.position = 0
    GROUP BY f.device, f.file_id, f.size, f.mtime_ns HAVING count(DISTINCT p.model) > 1)
