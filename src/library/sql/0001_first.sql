-- The first library. Paths are BLOBs: bytes on POSIX, WTF-8 on Windows. Times are nanoseconds since the Unix epoch.
-- Sizes are below 2^63; `device` is a 64-bit number kept as its two's complement.

-- Folders that were imported and are looked at again by a scan.
CREATE TABLE roots (
    id         INTEGER PRIMARY KEY,
    path       BLOB    NOT NULL UNIQUE,
    added_ns   INTEGER NOT NULL,
    scanned_ns INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row a model: a file, a sharded set or a folder of components, under however many paths.
CREATE TABLE models (
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice, so that events stay true
    name       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    base       TEXT    NOT NULL,
    variant    TEXT    NOT NULL,
    container  TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('identified', 'ambiguous', 'unknown', 'unsupported', 'damaged',
                                                 'dangerous', 'unreadable')),
    presence   TEXT    NOT NULL CHECK (presence IN ('present', 'missing', 'offline', 'crashed')),
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    part_count INTEGER NOT NULL CHECK (part_count >= 1),
    path       BLOB    NOT NULL,           -- the entry it is shown by
    sample     BLOB,                       -- sample digest, NULL when its bytes could not be read
    message    TEXT    NOT NULL,           -- what a person should know of it, "" when nothing is wrong
    added_ns   INTEGER NOT NULL,
    updated_ns INTEGER NOT NULL,
    answer     TEXT    NOT NULL            -- the answer as JSON, in the words it was given with
) STRICT;
CREATE INDEX models_by_kind ON models (base, type, name, id);

-- Every path that was looked at: parts of models, entries of sets and folders, and files that turned out to be no
-- model (those have no row in parts, and are remembered so as not to be read again).
CREATE TABLE files (
    id       INTEGER PRIMARY KEY,
    path     BLOB    NOT NULL UNIQUE,
    size     INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    device   INTEGER NOT NULL,
    file_id  BLOB    NOT NULL,
    links    INTEGER NOT NULL,
    weak     INTEGER NOT NULL,  -- file id and times under two seconds are not to be trusted
    present  INTEGER NOT NULL,
    members  BLOB               -- entry of a set or folder: digest of what belongs to it; else NULL
) STRICT;
CREATE INDEX files_by_identity ON files (file_id, size);

-- Which files a model is made of. Rows of one position are several paths of the same part; position -1 is an entry
-- without weights of its own (an index, a folder).
CREATE TABLE parts (
    model    INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
    file     INTEGER NOT NULL REFERENCES files (id),
    position INTEGER NOT NULL,
    entry    INTEGER NOT NULL,  -- 1: the model is found by this path
    PRIMARY KEY (model, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX parts_by_file ON parts (file);
CREATE UNIQUE INDEX parts_by_entry ON parts (file) WHERE entry = 1;

-- Work that was asked for. `paths`: each followed by a NUL. `key`: digest of kind and sorted paths.
CREATE TABLE jobs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    kind       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'interrupted', 'paused', 'done', 'failed',
                                                 'cancelled')),
    key        BLOB    NOT NULL,
    paths      BLOB    NOT NULL,
    queued_ns  INTEGER NOT NULL,
    started_ns INTEGER NOT NULL DEFAULT 0,
    ended_ns   INTEGER NOT NULL DEFAULT 0,
    items      INTEGER NOT NULL DEFAULT 0,
    items_done INTEGER NOT NULL DEFAULT 0,
    error      TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX jobs_by_key ON jobs (key);

-- What a job has still to read (a row goes when its result is recorded, in the same transaction) and what it set
-- aside. deaths: how often a process ended uncleanly while this item was being read.
CREATE TABLE job_items (
    job    INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    path   BLOB    NOT NULL,
    state  TEXT    NOT NULL CHECK (state IN ('queued', 'reading', 'aside')),
    deaths INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, path)
) STRICT, WITHOUT ROWID;

-- What happened to which model, in order.
CREATE TABLE events (
    id     INTEGER PRIMARY KEY,
    at_ns  INTEGER NOT NULL,
    job    INTEGER REFERENCES jobs (id),
    model  INTEGER NOT NULL,
    what   TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;
CREATE INDEX events_by_model ON events (model);
