package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	inner "github.com/rota-run/rota/store/internal/driver"
)

// schema is the driver of package engine: one handle on a schema.
type schema struct {
	*wire
	journal journal // the log
}

// The limits of a request.
const (
	keysMost = 1000    // of a read
	batch    = 512     // records of an append
	pageMost = 1 << 20 // rows of a list: one request has them all, from one instant
)

// Limits implements driver.Driver.
func (s *schema) Limits() driver.Limits {
	const most = MaxRecord + 1
	return driver.Limits{Value: most, Swap: most, Keys: keysMost, Page: pageMost, Batch: batch}
}

// Read implements driver.Documents. The range is from one instant, and so are the keys, from a later one.
func (s *schema) Read(ctx context.Context, q driver.Query) (rows driver.Rows, err error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return rows, err
	}
	defer leave()
	if q.From != "" {
		from, behind := strings.CutSuffix(q.From, "\x00") // no text has a zero byte
		found, err := s.ask(ctx, sqlRange, from, q.To, q.Limit+1, q.Bare, behind)
		if err != nil {
			return rows, err
		}
		for _, r := range found[:min(len(found), q.Limit)] {
			rows.Range = append(rows.Range, r.row())
		}
		rows.More = len(found) > q.Limit
	}
	if len(q.Keys) > 0 {
		rows.Keys, err = s.rows(ctx, q.Keys)
	}
	return rows, err
}

// rows reads rows by their keys.
func (s *schema) rows(ctx context.Context, keys []string) ([]driver.Row, error) {
	found, err := s.ask(ctx, sqlGet, keys)
	if err != nil {
		return nil, err
	}
	at, dead := make(map[string]int, len(found)), false
	for i, r := range found {
		at[r.text(0)], dead = i, dead || r.bool(4)
	}
	if dead {
		s.judge.look() // the process that one belongs to seems to be dead
	}
	rows, used := make([]driver.Row, len(keys)), make([]bool, len(found))
	for i, key := range keys {
		n, there := at[key]
		if !there {
			rows[i].Key = key
			continue
		}
		if rows[i] = found[n].row(); used[n] { // the key comes twice
			rows[i].Value = bytes.Clone(rows[i].Value)
		}
		used[n] = true
	}
	return rows, nil
}

// row is a row of the table.
func (r row) row() driver.Row {
	return driver.Row{Key: r.text(0), Name: r.text(1), Version: driver.Version(r.text(2)), Value: r[3]}
}

// Swap implements driver.Documents. A row of a vigil is one of nobody then.
func (s *schema) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if len(with) > 0 {
		return "", fmt.Errorf("%q: one row at a time: %w", op.Key, store.ErrTooLarge)
	}
	return s.swap(ctx, op, nil)
}

// swap writes a row of a session, or of none if that is nil.
func (s *schema) swap(ctx context.Context, op driver.Op, session any) (driver.Version, error) {
	if err := inner.CheckSize(op.Value, MaxRecord+1); err != nil {
		return "", fmt.Errorf("%q: %w", op.Key, err)
	}
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	hint := !op.Beat && !op.Once
	v, at := newVersion(), text(op.If)
	var rows []row
	switch {
	case op.Delete:
		v = ""
		rows, err = s.change(ctx, sqlDelete, op.Key, at, hint)
	case op.If == "":
		rows, err = s.change(ctx, sqlCreateRow, op.Key, op.Name, string(v), present(op.Value), session, hint)
	default:
		rows, err = s.change(ctx, sqlUpdate, op.Key, op.Name, string(v), present(op.Value), session, hint, at)
	}
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0:
		return "", &driver.Conflict{}
	}
	return v, nil
}

// newVersion is a version that no other change has ever had: 15 random bytes. A number that the server counts would
// come back after a standby that had not heard of the last changes has become the primary.
func newVersion() driver.Version {
	b := make([]byte, 15)
	rand.Read(b) // never fails
	return driver.Version(base64.RawURLEncoding.EncodeToString(b))
}

// text is what the server compares a version with: one that is not text to it is nobody's.
func text(v driver.Version) string {
	return strings.ToValidUTF8(strings.ReplaceAll(string(v), "\x00", "?"), "?")
}

// Free implements driver.Documents.
func (s *schema) Free(ctx context.Context, keys []string) error {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = s.change(ctx, sqlFree, keys)
	return err
}

// formatName and formatNumber are the contents of the table format. A store with another number is not opened.
const (
	formatName   = "rota"
	formatNumber = 2
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

// sqlCreate makes all tables, in one transaction; schema by schema, one process after the other. The table of ties is
// not logged: it is empty after a crash of the server, and what it says is not believed after an orderly restart.
const sqlCreate statement = `
CREATE TABLE ~format (name text PRIMARY KEY, number int NOT NULL);
CREATE TABLE ~sessions (id bigint PRIMARY KEY, owner bigint NOT NULL, ttl_ms bigint NOT NULL, beat bigint NOT NULL DEFAULT 0) WITH (fillfactor = 70);
CREATE UNLOGGED TABLE ~ties (owner bigint PRIMARY KEY, nonce text NOT NULL, boot timestamptz NOT NULL);
CREATE TABLE ~rows (key text COLLATE "C" PRIMARY KEY, name text NOT NULL DEFAULT '', version text NOT NULL, value bytea NOT NULL,
  session bigint REFERENCES ~sessions ON DELETE CASCADE) WITH (fillfactor = 70);
CREATE INDEX rows_session ON ~rows (session) WHERE session IS NOT NULL;
CREATE TABLE ~log (index bigint PRIMARY KEY, data bytea NOT NULL) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE TABLE ~head (one int PRIMARY KEY CHECK (one = 1), last bigint NOT NULL, began bigint NOT NULL) WITH (fillfactor = 10);
CREATE FUNCTION ~await_end(mine bigint, wait_ms int, slice_ms int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  until timestamptz := clock_timestamp() + wait_ms * interval '1 ms';
  other bigint;
BEGIN
  WHILE clock_timestamp() < until LOOP
    SELECT owner INTO other FROM ~ties WHERE boot = pg_postmaster_start_time() AND owner <> mine ORDER BY owner > mine, owner DESC LIMIT 1;
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
INSERT INTO ~head VALUES (1, 0, 0);
INSERT INTO ~format VALUES ('rota', 2);
`

// Statements of rows. Each write has one row in its result if it wrote, and gives a hint in the same transaction unless
// it is a heartbeat: the server wakes every connection that listens for each notification, so that n members would cost
// n².
const (
	sqlGet statement = `SELECT key, name, version, value, session IS NOT NULL AND EXISTS (SELECT 1 FROM ~sessions s JOIN ~ties t USING (owner)
  WHERE s.id = r.session AND t.boot = pg_postmaster_start_time() AND pg_try_advisory_xact_lock_shared(owner))
FROM ~rows r WHERE key = ANY ($1::text[])`
	sqlRange statement = `SELECT key, name, version, CASE WHEN $4::bool THEN NULL ELSE value END FROM ~rows
WHERE key >= $1::text AND key < $2::text AND NOT ($5::bool AND key = $1::text) ORDER BY key LIMIT $3::bigint`
	sqlCreateRow statement = `WITH w AS (INSERT INTO ~rows (key, name, version, value, session) VALUES ($1::text, $2::text, $3::text, $4::bytea, $5::bigint)
  ON CONFLICT (key) DO NOTHING RETURNING 1)
SELECT CASE WHEN $6::bool THEN pg_notify(^, 'd' || $1::text) END FROM w`
	sqlUpdate statement = `WITH w AS (UPDATE ~rows SET name = $2::text, version = $3::text, value = $4::bytea, session = $5::bigint
  WHERE key = $1::text AND version = $7::text RETURNING 1)
SELECT CASE WHEN $6::bool THEN pg_notify(^, 'd' || $1::text) END FROM w`
	sqlDelete statement = `WITH w AS (DELETE FROM ~rows WHERE key = $1::text AND version = $2::text RETURNING 1)
SELECT CASE WHEN $3::bool THEN pg_notify(^, 'd' || $1::text) END FROM w`
	sqlFree statement = `DELETE FROM ~rows WHERE key = ANY ($1::text[])`
)

// Statements of the log. The row of the head is locked until the transaction ends: so records become visible in the
// order of their indexes.
const (
	sqlAppend statement = `WITH h AS (UPDATE ~head SET last = last + cardinality($1::bytea[]) RETURNING last),
i AS (INSERT INTO ~log (index, data) SELECT h.last - cardinality($1::bytea[]) + r.n, r.data FROM h, unnest($1::bytea[]) WITH ORDINALITY AS r(data, n))
SELECT h.last, pg_notify(^, 'l') FROM h`
	sqlRead statement = `SELECT h.last, l.index, l.data FROM ~head h
LEFT JOIN LATERAL (SELECT index, data FROM ~log WHERE index > $1::bigint ORDER BY index LIMIT $2::bigint) l ON true ORDER BY l.index`
	sqlFirst statement = `SELECT coalesce((SELECT min(index) FROM ~log), last + 1) FROM ~head`
	sqlStart statement = `UPDATE ~head SET last = $1::bigint, began = $1::bigint
WHERE last = 0 OR last = $1::bigint AND began = $1::bigint AND NOT EXISTS (SELECT 1 FROM ~log) RETURNING 1`
	sqlTrim statement = `WITH w AS (DELETE FROM ~log WHERE index <= $1::bigint AND index < (SELECT min(index) FROM ~log) + $2::bigint RETURNING 1)
SELECT count(*) FROM w`
	sqlVacuum statement = `VACUUM (SKIP_LOCKED) ~log, ~rows`
)

// Statements of sessions. A hint with * is for all handles.
const (
	sqlOpenSession   statement = `INSERT INTO ~sessions (id, owner, ttl_ms) VALUES ($1::bigint, $2::bigint, $3::bigint) RETURNING 1`
	sqlSessionExists statement = `SELECT 1 FROM ~sessions WHERE id = $1::bigint`
	sqlEndSession    statement = `WITH w AS (DELETE FROM ~sessions WHERE id = $1::bigint RETURNING 1) SELECT pg_notify(^, '*') FROM w`
	sqlBeat          statement = `UPDATE ~sessions SET beat = beat + 1 WHERE owner = $1::bigint RETURNING id`
	sqlOthers        statement = `SELECT id, ttl_ms, beat FROM ~sessions WHERE owner <> $1::bigint`
	sqlEndSilent     statement = `WITH w AS (DELETE FROM ~sessions WHERE id = $1::bigint AND beat = $2::bigint RETURNING 1) SELECT pg_notify(^, '*') FROM w`

	sqlUntie statement = `DELETE FROM ~ties WHERE owner = $1::bigint`
	sqlLock  statement = `SELECT pg_try_advisory_lock($1::bigint)`
	sqlTie   statement = `INSERT INTO ~ties (owner, nonce, boot) VALUES ($1::bigint, $2::text, pg_postmaster_start_time())
ON CONFLICT (owner) DO UPDATE SET nonce = excluded.nonce, boot = excluded.boot`

	sqlAwaitEnd  statement = `SELECT ~await_end($1::bigint, $2::int, $3::int)`
	sqlFreeLocks statement = `SELECT owner, nonce FROM ~ties WHERE boot = pg_postmaster_start_time() AND owner <> $1::bigint AND pg_try_advisory_xact_lock_shared(owner)`
	// The sessions that last longer than a kernel may keep a connection stay for heartbeats to judge.
	sqlBury statement = `WITH t AS (DELETE FROM ~ties WHERE owner = $1::bigint AND nonce = $2::text AND boot = pg_postmaster_start_time()
  AND pg_try_advisory_xact_lock(owner) RETURNING owner),
w AS (DELETE FROM ~sessions s USING t WHERE s.owner = t.owner AND s.ttl_ms <= $3::bigint RETURNING 1)
SELECT pg_notify(^, '*') FROM w LIMIT 1`
)
