package postgres

import "strings"

// formatName and formatNumber are the contents of the table format. A store with a higher number is not opened.
const (
	formatName   = "rota"
	formatNumber = 1
)

// statement is a statement of SQL. In it, ~ means the schema with a dot, and ^ the name of the channel, as a literal.
type statement string

// layout names what a store has in its database.
type layout struct {
	schema  string // as it is
	channel string // of notifications
	texts   *strings.Replacer
}

func newLayout(schema string) layout {
	channel := "rota:" + schema
	return layout{schema, channel, strings.NewReplacer("~", identifier(schema)+".", "^", literal(channel))}
}

// text is the statement as the server gets it.
func (l layout) text(s statement) string { return l.texts.Replace(string(s)) }

// identifier and literal quote a name and a text. Neither has a backslash: see schemaName.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// sqlCreate makes all tables, in one transaction; schema by schema, one process after the other. The table of ties is not logged: it is empty after a crash of
// the server, and what it says is not believed after an orderly restart.
const sqlCreate statement = `
CREATE TABLE ~format (name text PRIMARY KEY, number int NOT NULL);
CREATE TABLE ~sessions (id bigint PRIMARY KEY, ttl_ms bigint NOT NULL, beat bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70);
CREATE UNLOGGED TABLE ~ties (session bigint PRIMARY KEY REFERENCES ~sessions ON DELETE CASCADE, nonce text NOT NULL, boot timestamptz NOT NULL);
CREATE TABLE ~docs (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL, version text NOT NULL,
  session bigint REFERENCES ~sessions ON DELETE CASCADE) WITH (fillfactor = 70);
CREATE INDEX docs_session ON ~docs (session) WHERE session IS NOT NULL;
CREATE TABLE ~log (index bigint PRIMARY KEY, data bytea NOT NULL) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE TABLE ~head (one int PRIMARY KEY CHECK (one = 1), last bigint NOT NULL, began bigint NOT NULL,
  snapshot bigint NOT NULL, folder text NOT NULL, chunks int NOT NULL, sum text NOT NULL) WITH (fillfactor = 10);
CREATE TABLE ~chunks (index bigint, folder text COLLATE "C", n int, data bytea NOT NULL, PRIMARY KEY (index, folder, n));
CREATE FUNCTION ~await_end(mine bigint, wait_ms int, slice_ms int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := clock_timestamp() + wait_ms * interval '1 ms';
  other bigint;
BEGIN
  WHILE clock_timestamp() < until LOOP
    SELECT session INTO other FROM ~ties WHERE boot = pg_postmaster_start_time() AND session <> mine ORDER BY session > mine, session DESC LIMIT 1;
    IF other IS NULL THEN
      PERFORM pg_sleep(slice_ms / 1000.0);
      CONTINUE;
    END IF;
    BEGIN
      PERFORM set_config('lock_timeout', slice_ms::text, true);
      PERFORM pg_advisory_xact_lock_shared(other);
      RETURN other;
    EXCEPTION WHEN lock_not_available THEN
      NULL;
    END;
  END LOOP;
  RETURN 0;
END $$;
INSERT INTO ~head VALUES (1, 0, 0, 0, '', 0, '');
INSERT INTO ~format VALUES ('rota', 1);
`

// Statements of documents. Each write gives a hint in the same transaction, and has one row in its result if it wrote.
const (
	sqlGet statement = `SELECT d.value, d.version, t.session IS NOT NULL AND pg_try_advisory_xact_lock_shared(t.session) FROM ~docs d
LEFT JOIN ~ties t ON t.session = d.session AND t.boot = pg_postmaster_start_time() WHERE d.key = $1`
	sqlCreateDoc statement = `WITH w AS (INSERT INTO ~docs (key, value, version, session) VALUES ($1::text, $2::bytea, $3::text, $4::bigint) ON CONFLICT (key) DO NOTHING RETURNING 1)
SELECT pg_notify(^, 'd' || $1::text) FROM w`
	sqlUpdateDoc statement = `WITH w AS (UPDATE ~docs SET value = $2::bytea, version = $3::text, session = $4::bigint WHERE key = $1::text AND version = $5::text RETURNING 1)
SELECT pg_notify(^, 'd' || $1::text) FROM w`
	// A heartbeat wakes nobody: the server wakes every connection that listens for each notification, so that n members would cost n².
	sqlRenewDoc  statement = `UPDATE ~docs SET value = $2::bytea, version = $3::text WHERE key = $1::text AND version = $5::text AND session = $4::bigint RETURNING 1`
	sqlDeleteDoc statement = `WITH w AS (DELETE FROM ~docs WHERE key = $1::text AND version = $2::text RETURNING 1) SELECT pg_notify(^, 'd' || $1::text) FROM w`
	sqlList      statement = `SELECT key, value, version FROM ~docs WHERE key >= $1::text AND ($2::text = '' OR key < $2::text) ORDER BY key`
)

// Statements of the log. The row of the head is locked until the transaction ends: so records become visible in the order of their indexes.
const (
	sqlAppend statement = `WITH h AS (UPDATE ~head SET last = last + cardinality($1::bytea[]) RETURNING last),
i AS (INSERT INTO ~log (index, data) SELECT h.last - cardinality($1::bytea[]) + r.n, r.data FROM h, unnest($1::bytea[]) WITH ORDINALITY AS r(data, n))
SELECT h.last, pg_notify(^, 'l') FROM h`
	sqlRead statement = `SELECT h.last, greatest(h.began, h.snapshot), l.index, l.data FROM ~head h
LEFT JOIN LATERAL (SELECT index, data FROM ~log WHERE index > $1::bigint ORDER BY index LIMIT $2::bigint) l ON true ORDER BY l.index`
	sqlSeed statement = `UPDATE ~head SET last = $1::bigint, began = $1::bigint
WHERE snapshot = 0 AND (last = 0 OR last = $1::bigint AND began = $1::bigint AND NOT EXISTS (SELECT 1 FROM ~log)) RETURNING 1`
	sqlHead   statement = `SELECT last, snapshot, folder, chunks, sum FROM ~head`
	sqlChunks statement = `SELECT data FROM ~chunks WHERE index = $1::bigint AND folder = $2::text AND n >= $3::int ORDER BY n LIMIT $4::int`
	sqlChunk  statement = `INSERT INTO ~chunks (index, folder, n, data) VALUES ($1::bigint, $2::text, $3::int, $4::bytea) RETURNING 1`
	sqlPoint  statement = `WITH p AS (UPDATE ~head SET snapshot = $1::bigint, folder = $2::text, chunks = $3::int + 1, sum = $5::text
  WHERE snapshot < $1::bigint AND last >= $1::bigint RETURNING 1),
c AS (INSERT INTO ~chunks (index, folder, n, data) SELECT $1::bigint, $2::text, $3::int, $4::bytea FROM p)
SELECT 1 FROM p`
	sqlDropDraft statement = `DELETE FROM ~chunks WHERE index = $1::bigint AND folder = $2::text`
	sqlDropOlder statement = `DELETE FROM ~chunks WHERE (index, folder) <> (SELECT snapshot, folder FROM ~head) AND index <= (SELECT snapshot FROM ~head)`
	sqlOldest    statement = `SELECT least($1::bigint, h.snapshot), (SELECT min(index) FROM ~log) FROM ~head h`
	sqlTrim      statement = `WITH w AS (DELETE FROM ~log WHERE index <= $1::bigint AND index <= (SELECT snapshot FROM ~head) RETURNING 1) SELECT count(*) FROM w`
	sqlVacuum    statement = `VACUUM (SKIP_LOCKED) ~log, ~chunks`
)

// Statements of sessions. A hint with * is for all handles.
const (
	sqlOpenSession   statement = `INSERT INTO ~sessions (id, ttl_ms) VALUES ($1::bigint, $2::bigint) RETURNING 1`
	sqlSessionExists statement = `SELECT 1 FROM ~sessions WHERE id = $1::bigint`
	sqlEndSessions   statement = `WITH w AS (DELETE FROM ~sessions WHERE id = ANY ($1::bigint[]) RETURNING 1) SELECT pg_notify(^, '*') FROM w`
	sqlBeat          statement = `UPDATE ~sessions SET beat = beat + 1 WHERE id = ANY ($1::bigint[]) RETURNING id`
	sqlOthers        statement = `SELECT id, ttl_ms, beat FROM ~sessions WHERE id <> ALL ($1::bigint[])`
	sqlEndSilent     statement = `WITH w AS (DELETE FROM ~sessions WHERE id = $1::bigint AND beat = $2::bigint RETURNING 1) SELECT pg_notify(^, '*') FROM w`

	sqlUntie statement = `DELETE FROM ~ties WHERE session = ANY ($1::bigint[])`
	sqlLock  statement = `SELECT pg_try_advisory_lock($1::bigint)`
	sqlTie   statement = `INSERT INTO ~ties (session, nonce, boot) SELECT id, $2::text, pg_postmaster_start_time() FROM ~sessions WHERE id = $1::bigint
ON CONFLICT (session) DO UPDATE SET nonce = excluded.nonce, boot = excluded.boot RETURNING 1`
	sqlUnlock statement = `SELECT pg_advisory_unlock($1::bigint)`

	sqlAwaitEnd statement = `SELECT ~await_end($1::bigint, $2::int, $3::int)`
	sqlFree     statement = `SELECT session, nonce FROM ~ties WHERE boot = pg_postmaster_start_time() AND session <> ALL ($1::bigint[]) AND pg_try_advisory_xact_lock_shared(session)`
	sqlBury     statement = `WITH w AS (DELETE FROM ~sessions s USING ~ties t WHERE s.id = $1::bigint AND t.session = s.id AND t.nonce = $2::text
  AND t.boot = pg_postmaster_start_time() AND pg_try_advisory_xact_lock(s.id) RETURNING 1)
SELECT pg_notify(^, '*') FROM w`
)
