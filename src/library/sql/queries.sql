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
UPDATE roots SET scanned_ns = ?2 WHERE path = ?1

-- name: known_under
SELECT f.path, f.size, f.mtime_ns, f.file_id, f.weak, f.present, f.members, f.id, p.model,
       CASE WHEN p.model IS NULL THEN EXISTS (SELECT 1 FROM parts q WHERE q.file = f.id)
            ELSE m.presence <> 'crashed' AND (m.state = 'unreadable' OR (m.sample IS NULL AND
                 (m.state NOT IN ('unsupported', 'damaged') OR m.container NOT IN ('diffusers', 'transformers')))) END
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
-- name: files_forget_aside
UPDATE files SET size = 0, mtime_ns = 0, members = NULL
WHERE path IN (SELECT path FROM job_items WHERE job = ?1 AND state = 'aside')
-- name: entry_of_path
SELECT f.id, f.size, f.mtime_ns, f.file_id, f.weak, f.present, f.members, p.model
FROM files f LEFT JOIN parts p ON p.file = f.id AND p.entry = 1 WHERE f.path = ?1
-- name: same_file
SELECT p.model FROM files f JOIN parts p ON p.file = f.id AND p.entry = 1 JOIN models m ON m.id = p.model
WHERE f.file_id = ?1 AND f.size = ?2 AND f.mtime_ns = ?3 AND f.device = ?4 AND f.weak = 0
  AND m.part_count = 1 AND p.position = 0 AND m.sample = ?5
-- name: set_of_part
SELECT p.model FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = p.model
WHERE f.path = ?1 AND p.position = 0 AND m.part_count = ?2 AND m.part_count > 1
-- name: other_paths
SELECT count(*) FROM parts p JOIN files f ON f.id = p.file
WHERE p.model = ?1 AND p.position = ?2 AND f.path <> ?3 AND f.present = 1 AND (f.file_id <> ?4 OR f.size <> ?5)

-- name: model_put
INSERT INTO models (name, type, base, variant, container, state, presence, size_bytes, part_count, path, sample,
                    message, added_ns, updated_ns, answer)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13, ?14)
-- name: model_update
UPDATE models SET name = ?1, type = ?2, base = ?3, variant = ?4, container = ?5, state = ?6, presence = ?7,
    size_bytes = ?8, part_count = ?9, path = ?10, sample = ?11, message = ?12, updated_ns = ?13, answer = ?14
WHERE id = ?15
-- name: model_before
SELECT size_bytes, sample, state, presence, path FROM models WHERE id = ?1
-- name: model_show_path
UPDATE models SET path = (SELECT f.path FROM parts p JOIN files f ON f.id = p.file
                          WHERE p.model = ?1 AND p.entry = 1 ORDER BY f.present DESC, f.path LIMIT 1)
WHERE id = ?1 AND path NOT IN (SELECT f.path FROM parts p JOIN files f ON f.id = p.file
                               WHERE p.model = ?1 AND p.entry = 1 AND f.present = 1)
-- name: model_drop
DELETE FROM models WHERE id = ?1
-- name: entries
SELECT count(*) FROM parts WHERE model = ?1 AND entry = 1
-- name: model_presence
UPDATE models SET presence = ?2, updated_ns = ?3 WHERE id = ?1 AND presence <> ?2
-- name: model_back
UPDATE models SET presence = 'present', updated_ns = ?2 WHERE id = ?1 AND presence IN ('missing', 'offline')
-- name: model_whole
SELECT count(DISTINCT p.position) = count(DISTINCT CASE WHEN f.present = 1 THEN p.position END)
FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1
-- name: models_of_file
SELECT model FROM parts WHERE file = ?1
-- name: part_put
INSERT INTO parts (model, file, position, entry) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (model, file) DO UPDATE SET position = excluded.position, entry = max(entry, excluded.entry)
-- name: parts_drop_plain
DELETE FROM parts WHERE model = ?1 AND entry = 0
-- name: part_drop
DELETE FROM parts WHERE model = ?1 AND file = ?2
-- name: event_put
INSERT INTO events (at_ns, job, model, what, detail) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: job_put
INSERT INTO jobs (kind, state, key, paths, queued_ns, started_ns) VALUES (?1, 'running', ?2, ?3, ?4, ?4)
-- name: jobs_of_key
SELECT id, state FROM jobs WHERE key = ?1 AND state IN ('queued', 'running', 'interrupted') ORDER BY id
-- name: jobs_running
SELECT id FROM jobs WHERE state = 'running'
-- name: jobs_open
SELECT id FROM jobs WHERE state IN ('queued', 'running', 'interrupted') ORDER BY id
-- name: job_adopt
UPDATE jobs SET state = 'running', started_ns = ?2, ended_ns = 0, error = '' WHERE id = ?1
-- name: job_state
SELECT state FROM jobs WHERE id = ?1
-- name: job_end
UPDATE jobs SET state = ?2, ended_ns = ?3, error = ?4 WHERE id = ?1
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
SELECT id, kind, state, paths, queued_ns, started_ns, ended_ns, items, items_done, error FROM jobs WHERE id = ?1
-- name: job_ids
SELECT id FROM jobs ORDER BY id

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
-- name: items_suspect
SELECT path, max(deaths) FROM job_items WHERE deaths > 0 AND state = 'queued' GROUP BY path
-- name: items_drop
DELETE FROM job_items WHERE job = ?1

-- name: scope_clear
DELETE FROM temp.scope
-- name: scope_add
INSERT OR IGNORE INTO temp.scope
SELECT p.model FROM main.files f JOIN main.parts p ON p.file = f.id
WHERE p.entry = 1 AND (f.path = ?1 OR (f.path >= ?2 AND f.path < ?3))
-- name: totals
SELECT m.base, m.type, count(*), sum(m.size_bytes) FROM temp.scope s JOIN main.models m ON m.id = s.model
WHERE m.presence IN ('present', 'crashed') GROUP BY m.base, m.type ORDER BY m.base = '', m.base, m.type
-- name: problems
SELECT m.path, m.state, m.presence, m.message FROM temp.scope s JOIN main.models m ON m.id = s.model
WHERE (m.state IN ('damaged', 'dangerous', 'unreadable') OR m.presence = 'crashed') AND m.presence IN ('present', 'crashed')
ORDER BY m.path

-- name: list_ids
SELECT id FROM models ORDER BY base, type, name, id LIMIT ?1
-- name: record
SELECT id, name, path, type, base, variant, container, presence, state, size_bytes, added_ns, answer FROM models
WHERE id = ?1
-- name: record_paths
SELECT f.path FROM parts p JOIN files f ON f.id = p.file WHERE p.model = ?1 AND p.entry = 1 ORDER BY f.path
-- name: find_id
SELECT id FROM models WHERE id = ?1
-- name: find_path
SELECT p.model FROM files f JOIN parts p ON p.file = f.id WHERE f.path = ?1 ORDER BY p.entry DESC LIMIT 1
-- name: find_name
SELECT id FROM models WHERE name = ?1 LIMIT 2

-- name: check_pages
PRAGMA integrity_check(1)
-- name: check_references
PRAGMA foreign_key_check
-- name: check_parts
SELECT count(*) FROM models m WHERE NOT EXISTS (SELECT 1 FROM parts p WHERE p.model = m.id AND p.entry = 1)
-- name: check_positions
SELECT count(*) FROM models m
WHERE m.part_count <> (SELECT count(DISTINCT position) FROM parts p WHERE p.model = m.id AND p.position >= 0)
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
