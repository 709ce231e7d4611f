package postgres

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
)

// TestParameters: nothing, no bytes and no text are different from each other.
func TestParameters(t *testing.T) {
	t.Parallel()
	values, formats := parameters([]any{nil, []byte(nil), []byte{1}, "", "x", int64(-5), 7})
	want := [][]byte{nil, {}, {1}, {}, []byte("x"), []byte("-5"), []byte("7")}
	for i := range want {
		if !bytes.Equal(values[i], want[i]) || (values[i] == nil) != (want[i] == nil) {
			t.Errorf("parameter %d is %#v, want %#v", i, values[i], want[i])
		}
	}
	if !slices.Equal(formats, []int16{0, 1, 1, 0, 0, 0, 0}) {
		t.Errorf("formats %v", formats)
	}
}

// TestArray holds the binary form against what the server's documentation says of it.
func TestArray(t *testing.T) {
	t.Parallel()
	want := []byte{
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1,
		0, 0, 0, 2, 'a', 'b',
		0, 0, 0, 0,
	}
	if got := arrayOf(17, [][]byte{[]byte("ab"), {}}); !bytes.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := arrayOf(25, []string{}), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25}; !bytes.Equal(got, want) {
		t.Errorf("an empty array is %v, want %v", got, want)
	}
}

func TestSameAddress(t *testing.T) {
	t.Parallel()
	ours := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 4711}
	for _, c := range []struct {
		host string
		port int32
		same bool
	}{
		{"10.0.0.5", 4711, true}, {"::ffff:10.0.0.5", 4711, true}, {"10.0.0.5", 4712, false}, {"10.0.0.6", 4711, false},
		{"", 4711, false},
	} {
		if got := sameAddress(ours, c.host, c.port); got != c.same {
			t.Errorf("%s %d: %v", c.host, c.port, got)
		}
	}
	if sameAddress(&net.UnixAddr{Name: "x"}, "10.0.0.5", 4711) {
		t.Error("a socket that has no port is the same")
	}
}

func TestVersionsAndNumbers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		v := string(newVersion())
		if len(v) != 20 || seen[v] || newID() < 0 {
			t.Fatalf("version %q, seen %v", v, seen[v])
		}
		seen[v] = true
	}
	if n := (row{{0xff, 0xff, 0xff, 0xfe}}).int(0); n != -2 {
		t.Errorf("four bytes of -2 are %d", n)
	}
}

// TestWhoseNameACertificateHas: that of the options, else that of the host.
func TestWhoseNameACertificateHas(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string]*tls.Config{"h": {}, "n": {ServerName: "n"}} { // order-free
		c := must.Get((&wire{options: Options{TLS: settings}}).config("h:5"))(t)
		if c.TLSConfig.ServerName != want || c.Host != "h" || c.Port != 5 {
			t.Errorf("%s:%d is asked for the name %q, want %q", c.Host, c.Port, c.TLSConfig.ServerName, want)
		}
	}
}

var errStopped = errors.New("the caller gave up")

func answer(severity, code string) error {
	return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: "said so"}
}

// TestOutcomes: what proves that a change was not made, and what does not.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errStopped)
	for name, c := range map[string]struct {
		ctx       context.Context
		err, want error
		unknown   bool
	}{
		"the connection broke":           {context.Background(), io.ErrUnexpectedEOF, store.ErrUnknown, true},
		"the caller gave up":             {ended, io.ErrUnexpectedEOF, errStopped, true},
		"never sent":                     {context.Background(), notSent{io.EOF}, store.ErrUnavailable, false},
		"never sent, the caller gave up": {ended, notSent{io.EOF}, errStopped, false},
		"refused, read only":             {context.Background(), answer("ERROR", codeReadOnly), store.ErrUnavailable, false},
		"refused, the disk is full":      {context.Background(), answer("ERROR", codeDiskFull), store.ErrUnavailable, false},
		"refused, somebody has a lock":   {context.Background(), answer("ERROR", "55P03"), store.ErrUnavailable, false},
		"refused, the session is gone": {context.Background(), answer("ERROR", codeForeignKey), store.ErrSession,
			false},
		"refused, the table is gone":    {context.Background(), answer("ERROR", codeNoTable), ErrDamaged, false},
		"refused as the caller gave up": {ended, answer("ERROR", codeCancelled), errStopped, false},
		"the server ended the connection": {context.Background(), answer("FATAL", codeShutdown), store.ErrUnknown,
			true},
		"the server crashed":              {context.Background(), answer("PANIC", codeIO), store.ErrUnknown, true},
		"not let in, so nothing was sent": {context.Background(), notSent{answer("FATAL", codePassword)}, nil, false},
		"no connection left, nothing sent": {context.Background(), notSent{answer("FATAL", codeTooMany)},
			store.ErrUnavailable, false},
		"a standby, so nothing was sent": {context.Background(),
			notSent{serverState{version: oldest, standby: true}.check(Options{})}, errStandby, false},
		"it is a standby, which is no loss": {context.Background(),
			notSent{serverState{version: oldest, standby: true}.check(Options{})}, store.ErrUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := readError(c.ctx, c.err); errors.Is(err, store.ErrUnknown) ||
				c.ctx == ended && !errors.Is(err, errStopped) {
				t.Errorf("of a read: %v", err)
			}
			err := writeError(c.ctx, c.err)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) != c.unknown {
				t.Errorf("%v; want %v, unknown %v", err, c.want, c.unknown)
			}
		})
	}
}

// TestWhatIsAskedAgain: after an answer of the server, a change is made again where that was undone, and a read also
// where the server may be there soon.
func TestWhatIsAskedAgain(t *testing.T) {
	t.Parallel()
	for code, want := range map[string][2]bool{codeSerialization: {true, true}, codeDeadlock: {true, true},
		codeStarting: {false, true}, codeShutdown: {false, true}, codeCrashed: {false, true}, codeTooMany: {false, true},
		codeNoStatement: {false, true}, codePrivilege: {}, codeReadOnly: {}, codeNoTable: {}} {
		if err := answer("ERROR", code); undone(err) != want[0] || passing(err) != want[1] {
			t.Errorf("%s: a change is made again: %v, a read: %v; want %v", code, undone(err), passing(err), want)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		st   serverState
		o    Options
		want string
	}{
		"good":                      {serverState{version: 150018}, Options{}, ""},
		"the oldest":                {serverState{version: oldest}, Options{}, ""},
		"too old":                   {serverState{version: 110022}, Options{}, "the server is PostgreSQL 11.22: at least 12 is needed"},
		"standby":                   {serverState{version: 150018, standby: true, readOnly: true}, Options{ReadOnly: true}, "standby"},
		"read only":                 {serverState{version: 150018, readOnly: true}, Options{}, "default_transaction_read_only"},
		"read only for an observer": {serverState{version: 150018, readOnly: true}, Options{ReadOnly: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.st.check(c.o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// TestTheNearestServer: of several servers that do not take us the error is that of the one that came furthest.
func TestTheNearestServer(t *testing.T) {
	t.Parallel()
	for i, err := range []error{io.EOF, fmt.Errorf("%w: %w", store.ErrUnavailable, errStandby), store.ErrUnavailable,
		answer("FATAL", codePassword)} {
		if got := rank(&dialError{"h", err}); got != i {
			t.Errorf("%v has rank %d, want %d", err, got, i)
		}
	}
}

// TestHints: each cause has words of its own for what to try.
func TestHints(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, code := range []string{codePassword, codeAuthorization, codeNoDatabase, codePrivilege, codeTooMany,
		codeStarting, codeReadOnly} {
		hint := answerHint(answer("FATAL", code))
		if hint == "" || seen[hint] != "" {
			t.Errorf("%s: the hint is %q, as that of %q", code, hint, seen[hint])
		}
		seen[hint] = code
	}
}
