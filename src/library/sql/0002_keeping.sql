-- A library that is kept: words of people, hashes, identity through change (docs/decisions/0009), files moved with a
-- way back, and search.

-- A root that is away (its folder is not there) makes its models offline, not missing. 0: it was there at the last look.
ALTER TABLE roots ADD COLUMN away_ns INTEGER NOT NULL DEFAULT 0;
-- The device the root's folder was on at the last look: an empty folder on another one is a mount point without its disk.
ALTER TABLE roots ADD COLUMN device INTEGER;

-- What people say of a model. `type`, `base`, `variant` of the row are what counts: the person's where set, else the
-- answer's. NULL: not set.
ALTER TABLE models ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN named INTEGER NOT NULL DEFAULT 0; -- 1: the name was given by a person and stays
ALTER TABLE models ADD COLUMN set_type TEXT;
ALTER TABLE models ADD COLUMN set_base TEXT;
ALTER TABLE models ADD COLUMN set_variant TEXT;
-- When its last path went; 0 while it has one.
ALTER TABLE models ADD COLUMN missing_ns INTEGER NOT NULL DEFAULT 0;
-- The job whose scan found it, until that scan has ended and decided whether it is new; NULL afterwards.
ALTER TABLE models ADD COLUMN unsettled INTEGER;

CREATE INDEX models_by_bytes ON models (size_bytes, sample);
CREATE INDEX models_by_name ON models (name COLLATE NOCASE);
CREATE INDEX models_unsettled ON models (unsettled) WHERE unsettled IS NOT NULL;
CREATE INDEX models_away ON models (presence) WHERE presence <> 'present';

-- A tag is one tag in any case of its letters: the library keeps the spelling it was given first.
UPDATE models SET missing_ns = updated_ns WHERE presence IN ('missing', 'offline');

-- Who a file was when its path came to lead to another one, while its record has no path: met again under any path it
-- is known by this.
CREATE TABLE former (
    model    INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    file_id  BLOB    NOT NULL,
    device   INTEGER NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    PRIMARY KEY (model, file_id, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX former_by_identity ON former (file_id, size);
-- Rows that show nothing any more (size -1): on their way to be written anew, or to go.
CREATE INDEX files_forgotten ON files (size) WHERE size < 0;

CREATE TABLE tags (
    model INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    tag   TEXT    NOT NULL COLLATE NOCASE,
    PRIMARY KEY (model, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag);

-- Hashes of a model's parts, each with the size and time its file had while it was hashed: a hash whose file shows
-- others is no hash of that file.
CREATE TABLE hashes (
    model     INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    algorithm TEXT    NOT NULL CHECK (algorithm IN ('blake3', 'sha256', 'crc32', 'autov1', 'autov2', 'autov3',
                                                    'key_hash', 'content')),
    value     TEXT    NOT NULL,
    size      INTEGER NOT NULL,
    mtime_ns  INTEGER NOT NULL,
    PRIMARY KEY (model, position, algorithm)
) STRICT, WITHOUT ROWID;
-- The first digits are enough to find it by.
CREATE INDEX hashes_by_value ON hashes (algorithm, substr(value, 1, 12));

-- Work that is measured in bytes, which is hash jobs: how much there is, how much is behind it, how long that took.
ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN bytes_done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN spent_ns INTEGER NOT NULL DEFAULT 0;
-- Of a hash job: the size of the file, and the digests that are wanted (bits of TN_DIGEST_*).
ALTER TABLE job_items ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_items ADD COLUMN wanted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX job_items_aside ON job_items (path) WHERE state = 'aside';

-- Every file of a part that can be hashed. `have`: the digests (bits of TN_DIGEST_*) recorded for the file as it is.
-- `can`: those it has for sure; a digest that needs a reader may be tried and not be had without having been missing.
CREATE VIEW hashable AS
SELECT f.id AS file, f.path AS path, f.size AS size, f.mtime_ns AS mtime_ns, p.model AS model, p.position AS position,
    CASE WHEN m.container = 'safetensors' AND m.state IN ('identified', 'ambiguous', 'unknown') THEN 255 ELSE 31 END AS can,
    coalesce((SELECT sum(CASE h.algorithm WHEN 'blake3' THEN 1 WHEN 'sha256' THEN 2 WHEN 'crc32' THEN 4
                                          WHEN 'autov1' THEN 8 WHEN 'autov2' THEN 16 WHEN 'autov3' THEN 32
                                          WHEN 'key_hash' THEN 64 ELSE 128 END)
              FROM hashes h WHERE h.model = p.model AND h.position = p.position AND h.size = f.size
                              AND abs(h.mtime_ns - f.mtime_ns) < iif(f.weak, 2000000000, 1)), 0) AS have
FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = p.model
WHERE f.present = 1 AND f.size >= 0 AND p.position >= 0 AND m.presence = 'present' AND m.state <> 'unreadable';

-- Lists go by this index alone: it holds all that a list is chosen by.
DROP INDEX models_by_kind;
CREATE INDEX models_by_kind ON models (base, type, name COLLATE NOCASE, id, state, presence);

-- What a person has set counts, whoever writes the row afterwards; and who has said what a file is has ended the doubt.
CREATE TRIGGER models_set AFTER UPDATE OF type, base, variant, state, set_type, set_base, set_variant ON models
WHEN (NEW.set_type IS NOT NULL OR NEW.set_base IS NOT NULL OR NEW.set_variant IS NOT NULL) AND
     (NEW.type IS NOT coalesce(NEW.set_type, NEW.type) OR NEW.base IS NOT coalesce(NEW.set_base, NEW.base) OR
      NEW.variant IS NOT coalesce(NEW.set_variant, NEW.variant) OR
      (NEW.state IN ('ambiguous', 'unknown') AND coalesce(NEW.set_type, NEW.type) <> '' AND
       coalesce(NEW.set_base, NEW.base) <> ''))
BEGIN
    UPDATE models SET type = coalesce(set_type, type), base = coalesce(set_base, base),
        variant = coalesce(set_variant, variant),
        state = CASE WHEN state IN ('ambiguous', 'unknown') AND coalesce(set_type, type) <> '' AND
                          coalesce(set_base, base) <> '' THEN 'identified' ELSE state END
    WHERE id = NEW.id;
END;

-- Members of answers that many models have in common, such as evidence. The number is made of the text, and stands for it
-- in models.answer. Rows stay when nothing refers to them any more: they are few.
CREATE TABLE said (
    number INTEGER PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT;

-- ---- search ----

-- What search looks in, and an index of trigrams over it. The index keeps no text of its own and no positions: what it
-- finds is looked at again in `words`. In `text` an exact word is found between its marks: 1 around each tag, 2 around the
-- base, 3 around the type; none of these words holds such a character. The name is left out where the path has it.
CREATE TABLE words (
    model INTEGER PRIMARY KEY,
    name  TEXT NOT NULL,
    text  TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE words_names USING fts5 (name, content = 'words', content_rowid = 'model', tokenize = 'trigram',
                                             detail = 'none', columnsize = 0);
CREATE VIRTUAL TABLE words_texts USING fts5 (text, content = 'words', content_rowid = 'model', tokenize = 'trigram',
                                             detail = 'none', columnsize = 0);
-- Models whose words have changed, noted by triggers so that no statement can forget it. Every transaction ends with
-- writing their words anew (queries words_...): triggers may not do so themselves, as a schema is not trusted with
-- virtual tables and JSON.
CREATE TABLE words_stale (
    model INTEGER PRIMARY KEY
) STRICT;

CREATE TRIGGER models_stale_put AFTER INSERT ON models
BEGIN
    INSERT INTO words_stale VALUES (NEW.id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER models_stale_change AFTER UPDATE OF name, path, type, base, note, answer ON models
WHEN NEW.name IS NOT OLD.name OR NEW.path IS NOT OLD.path OR NEW.type IS NOT OLD.type OR NEW.base IS NOT OLD.base OR
     NEW.note IS NOT OLD.note OR NEW.answer IS NOT OLD.answer
BEGIN
    INSERT INTO words_stale VALUES (NEW.id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER models_stale_drop AFTER DELETE ON models
BEGIN
    INSERT INTO words_stale VALUES (OLD.id) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER tags_stale_put AFTER INSERT ON tags
BEGIN
    INSERT INTO words_stale VALUES (NEW.model) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER tags_stale_change AFTER UPDATE ON tags
BEGIN
    INSERT INTO words_stale VALUES (OLD.model), (NEW.model) ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER tags_stale_drop AFTER DELETE ON tags
BEGIN
    INSERT INTO words_stale VALUES (OLD.model) ON CONFLICT DO NOTHING;
END;
INSERT INTO words_stale SELECT id FROM models;

-- Changes of files that were asked for (docs/decisions/0010). A row is on the disk before the first file is touched.
--   planned  files may be at their old or their new place; whoever finds it abandoned takes it back or finishes it
--   placed   everything is at its new place and proved, and the records say so; old copies may still have to go
-- `event`: the first act of the same command, which is what a person takes back. `undoes`: the act that this one takes
-- back. `keep`: the folder that is never removed, however empty it became; emptied folders below it are.
CREATE TABLE acts (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    event    INTEGER NOT NULL,
    kind     TEXT    NOT NULL CHECK (kind IN ('copy', 'move', 'trash', 'delete', 'forget', 'restore')),
    state    TEXT    NOT NULL CHECK (state IN ('planned', 'placed', 'done', 'undone', 'failed')),
    at_ns    INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL DEFAULT 0,
    model    INTEGER NOT NULL, -- 0: files of no record
    name     TEXT    NOT NULL,
    undoes   INTEGER,
    bytes    INTEGER NOT NULL,
    keep     BLOB    NOT NULL,
    error    TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX acts_open ON acts (id) WHERE state IN ('planned', 'placed');
CREATE INDEX acts_by_event ON acts (event);

-- The files, links and folders of an act. `target`: where it goes, empty where that is nowhere or not known. `aside`: the
-- name it has at its new place until it is whole and proved; for the trash, the note that says where it came from.
CREATE TABLE act_steps (
    act      INTEGER NOT NULL REFERENCES acts (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    shape    TEXT    NOT NULL CHECK (shape IN ('file', 'link', 'folder')),
    source   BLOB    NOT NULL,
    target   BLOB    NOT NULL,
    aside    BLOB    NOT NULL,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    PRIMARY KEY (act, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX act_steps_by_source ON act_steps (source);

-- Records that were taken out of the list, as they were, so that an undo puts them back: the columns of models, tags,
-- hashes, and of files and parts. A column that is added there is added here.
CREATE TABLE removed_models (
    act INTEGER NOT NULL REFERENCES acts (id) ON DELETE CASCADE,
    id INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, base TEXT NOT NULL, variant TEXT NOT NULL,
    container TEXT NOT NULL, state TEXT NOT NULL, presence TEXT NOT NULL, size_bytes INTEGER NOT NULL,
    part_count INTEGER NOT NULL, path BLOB NOT NULL, sample BLOB, message TEXT NOT NULL, added_ns INTEGER NOT NULL,
    updated_ns INTEGER NOT NULL, answer TEXT NOT NULL, note TEXT NOT NULL, named INTEGER NOT NULL, set_type TEXT,
    set_base TEXT, set_variant TEXT, missing_ns INTEGER NOT NULL, unsettled INTEGER,
    PRIMARY KEY (act, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_files (
    act INTEGER NOT NULL REFERENCES acts (id) ON DELETE CASCADE,
    path BLOB NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, device INTEGER NOT NULL, file_id BLOB NOT NULL,
    links INTEGER NOT NULL, weak INTEGER NOT NULL, present INTEGER NOT NULL, members BLOB, position INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    PRIMARY KEY (act, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_tags (
    act INTEGER NOT NULL REFERENCES acts (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (act, tag)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_hashes (
    act INTEGER NOT NULL REFERENCES acts (id) ON DELETE CASCADE,
    position INTEGER NOT NULL, algorithm TEXT NOT NULL, value TEXT NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    PRIMARY KEY (act, position, algorithm)
) STRICT, WITHOUT ROWID;
