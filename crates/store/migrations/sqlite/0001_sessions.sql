-- Sessions, their entries, and what is made of them.
--
-- A session's entries are in its log. A fork's log begins where it left its parent's, so forking copies nothing; a log
-- outlives its session while a fork needs it. `replay`, `passage` and `passage_text` can always be made again from
-- `entry`.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('scrub_due', 0);

CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    parent INTEGER REFERENCES log (id),
    parent_upto INTEGER NOT NULL DEFAULT 0, -- the last entry shared with the parent
    sealed INTEGER NOT NULL DEFAULT 0,      -- the last entry that `replay` covers
    pending INTEGER NOT NULL DEFAULT 0      -- whether there is something that `replay` or `passage` do not know yet
);

CREATE INDEX log_parent ON log (parent, parent_upto) WHERE parent IS NOT NULL;
CREATE INDEX log_pending ON log (id) WHERE pending;

CREATE TABLE session (
    log INTEGER PRIMARY KEY REFERENCES log (id),
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    shelf INTEGER NOT NULL,      -- Shelf::code
    cwd TEXT NOT NULL,           -- canonical
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL, -- milliseconds since 1970, as all times
    updated_at INTEGER NOT NULL,
    running_since INTEGER,       -- the entry that began the running turn
    recent_messages TEXT NOT NULL, -- JSON of the ids of messages that a chunk may continue
    token INTEGER NOT NULL,      -- of the lease; grows with each holder
    holder TEXT,                 -- JSON of the process that holds the lease
    held_since INTEGER,
    held_until INTEGER,
    facts TEXT NOT NULL,         -- JSON of SessionFacts
    facts_checksum INTEGER NOT NULL,
    settings TEXT NOT NULL,      -- JSON of Settings
    settings_checksum INTEGER NOT NULL
);

CREATE INDEX session_by_time ON session (owner, shelf, updated_at DESC, log DESC);
CREATE INDEX session_by_cwd ON session (owner, shelf, cwd, updated_at DESC, log DESC);
CREATE INDEX session_by_agent ON session (owner, shelf, agent, updated_at DESC, log DESC);
CREATE INDEX session_by_cwd_and_agent ON session (owner, shelf, cwd, agent, updated_at DESC, log DESC);
CREATE INDEX session_empty ON session (created_at) WHERE shelf = 2;

CREATE TABLE entry (
    id INTEGER PRIMARY KEY,  -- log << 32 | number: a session's entries lie together
    at INTEGER NOT NULL,
    turn INTEGER NOT NULL,   -- Turn::code
    tag INTEGER NOT NULL,    -- StepKind::code | Audience::code << 8 | protocol << 16, and << 32 which of the next are there
    message_id TEXT,
    extra TEXT,
    holes BLOB,              -- where big content was cut out of the body, and its addresses
    checksum INTEGER NOT NULL,
    body TEXT NOT NULL
);

CREATE TABLE content (
    address BLOB PRIMARY KEY, -- BLAKE3 of the text
    packed BLOB NOT NULL      -- the text, compressed
);

CREATE TABLE content_use (
    log INTEGER NOT NULL REFERENCES log (id),
    address BLOB NOT NULL REFERENCES content (address),
    PRIMARY KEY (log, address)
) WITHOUT ROWID;

CREATE INDEX content_use_by_address ON content_use (address);

CREATE TABLE replay (
    id INTEGER PRIMARY KEY,  -- log << 32 | count
    first INTEGER NOT NULL,  -- the entries that this piece and its neighbours of the same numbers are made of
    last INTEGER NOT NULL,
    states TEXT,             -- JSON of States, in the last of them
    holes BLOB,
    checksum INTEGER NOT NULL,
    packed BLOB NOT NULL     -- lines, compressed
);

CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: the index may know an old one
    log INTEGER NOT NULL REFERENCES log (id),
    first INTEGER NOT NULL,  -- the entries that its text is in; 0 for the session's title
    last INTEGER NOT NULL,
    at INTEGER NOT NULL,     -- when it was last added to
    text TEXT                -- the title as indexed; other text is in the entries
);

CREATE INDEX passage_by_log ON passage (log, first);

CREATE VIRTUAL TABLE passage_text USING fts5 (
    text,
    content = 'passage',
    content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2'
);

INSERT INTO passage_text (passage_text, rank) VALUES ('secure-delete', 1);
