package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// conn is one connection to the primary, used by one goroutine at a time.
type conn struct {
	*pgconn.PgConn
	layout   layout
	prepared map[statement]string // names, by statement
	used     time.Time            // for the last time
	server   serverState
}

// config is that of a connection to one host. Nothing in it comes from the environment but what a service file says.
func (w *wire) config(host string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig("postgres://rota@localhost/rota?sslmode=disable&target_session_attrs=any")
	if err != nil {
		return nil, fmt.Errorf("read the settings that the environment has for PostgreSQL: %w", err)
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	o := w.options
	c.Host, c.Port, c.Database, c.User, c.Password, c.Fallbacks = name, uint16(n), o.Database, o.User, o.Password, nil
	c.RuntimeParams = map[string]string{"application_name": "rota"}
	c.ConnectTimeout = connectTimeout
	// No keepalives by the kernel: where they fail it resets the connection, and so would end the sessions of a process
	// that lives. See line.
	c.DialFunc = (&net.Dialer{KeepAlive: -1}).DialContext
	if o.TLS != nil {
		c.TLSConfig = o.TLS.Clone()
		if c.TLSConfig.ServerName == "" {
			c.TLSConfig.ServerName = name
		}
	}
	return c, nil
}

// connectTimeout is for one attempt with one host.
const connectTimeout = 3 * time.Second

// dialHosts connects to the first host that is a primary. Where none is, the error is that of the host that came
// furthest.
func (w *wire) dialHosts(ctx context.Context, on pgconn.NotificationHandler) (*conn, error) {
	var failure error
	for _, host := range w.options.Hosts {
		c, err := w.dialHost(ctx, host, on)
		if err == nil {
			return c, nil
		}
		if failure == nil || rank(err) > rank(failure) {
			failure = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

func (w *wire) dialHost(ctx context.Context, host string, on pgconn.NotificationHandler) (*conn, error) {
	cfg, err := w.config(host)
	if err != nil {
		return nil, err
	}
	cfg.OnNotification = on
	pc, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, &dialError{host, bare(err)}
	}
	c := &conn{PgConn: pc, layout: w.layout, prepared: make(map[statement]string), used: time.Now()}
	if c.server, err = c.settle(ctx); err == nil {
		err = c.server.check(w.options)
	}
	if err != nil {
		closeConn(c)
		return nil, &dialError{host, err}
	}
	return c, nil
}

// closeConn says goodbye, without waiting for long.
func closeConn(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx) // the server finds out by itself
}

// row is one row of a result, each column in binary form; nil is NULL.
type row [][]byte

func (r row) text(i int) string { return string(r[i]) }

func (r row) int(i int) int64 {
	switch len(r[i]) {
	case 8:
		return int64(binary.BigEndian.Uint64(r[i])) //nolint:gosec // what the server has is signed
	case 4:
		return int64(int32(binary.BigEndian.Uint32(r[i]))) //nolint:gosec // what the server has is signed
	}
	return 0
}

// index is a number that is not negative.
func (r row) index(i int) uint64 { return uint64(r.int(i)) } //nolint:gosec // not negative

func (r row) bool(i int) bool { return len(r[i]) == 1 && r[i][0] == 1 }

// notSent marks an error that came before a statement was sent.
type notSent struct{ error }

func (e notSent) Unwrap() error   { return e.error }
func (notSent) SafeToRetry() bool { return true }

// exec runs a statement, which is prepared at its first use.
func (c *conn) exec(ctx context.Context, st statement, args ...any) ([]row, error) {
	name, ok := c.prepared[st]
	if !ok {
		name = "rota_" + strconv.Itoa(len(c.prepared))
		if _, err := c.Prepare(ctx, name, c.layout.text(st), nil); err != nil {
			return nil, notSent{err}
		}
		c.prepared[st] = name
	}
	values, formats := parameters(args)
	r := c.ExecPrepared(ctx, name, values, formats, []int16{1}).Read()
	c.used = time.Now()
	if r.Err != nil {
		return nil, r.Err
	}
	rows := make([]row, len(r.Rows))
	for i, values := range r.Rows {
		rows[i] = values
	}
	return rows, nil
}

// run runs statements that have neither parameters nor results, in one transaction.
func (c *conn) run(ctx context.Context, sql string) error {
	_, err := c.Exec(ctx, sql).ReadAll()
	return err
}

// parameters encodes arguments: numbers and texts as text, bytes and arrays as they are.
func parameters(args []any) (values [][]byte, formats []int16) {
	values, formats = make([][]byte, len(args)), make([]int16, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case nil:
		case []byte:
			values[i], formats[i] = present(a), 1
		case [][]byte:
			values[i], formats[i] = arrayOf(17, a), 1
		case []string:
			values[i], formats[i] = arrayOf(25, a), 1
		default:
			values[i] = fmt.Append([]byte{}, a)
		}
	}
	return values, formats
}

// present tells no bytes from NULL.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// arrayOf is the binary form of an array without NULLs: dimensions, flags, type, length, lower bound, and then each
// element with its length.
func arrayOf[T ~string | ~[]byte](oid uint32, elements []T) []byte {
	head := []uint32{1, 0, oid, uint32(len(elements)), 1} //nolint:gosec // few
	if len(elements) == 0 {
		head = []uint32{0, 0, oid}
	}
	size := 4 * len(head)
	for _, e := range elements {
		size += 4 + len(e)
	}
	out := make([]byte, 0, size)
	for _, n := range head {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	for _, e := range elements {
		out = binary.BigEndian.AppendUint32(out, uint32(len(e))) //nolint:gosec // at most MaxRecord
		out = append(out, e...)
	}
	return out
}
