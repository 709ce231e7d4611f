package nats_test

import (
	"context"
	"errors"
	"fmt"
	. "github.com/rota-run/rota/store/nats"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rota-run/rota/internal/port"
	"github.com/rota-run/rota/store"
)

// bare runs a server of one test, as these options say.
func bare(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	if o.JetStream && o.StoreDir == "" {
		o.StoreDir = folder(t)
	}
	n, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(patience) {
		t.Fatal("the server does not become ready")
	}
	return n.ClientURL()
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "nats://" + l.Addr().String()
}

func closedPort(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return "nats://" + addrs[0]
}

// pretender greets like a NATS server of a version.
func pretender(t *testing.T, greeting string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintf(c, "%s\r\n", greeting)
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if strings.Contains(string(buf[:n]), "PING") {
						fmt.Fprint(c, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

const greeting = `INFO {"server_id":"x","version":"%s","max_payload":1048576,"headers":true}`

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secured := bare(t, &server.Options{JetStream: true, Username: "u", Password: "right"})
	limited := bare(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "u", Password: "p", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"nothing"}}}},
	}})
	noJetStream := bare(t, &server.Options{})
	for name, c := range map[string]struct {
		o      Options
		want   string
		is     error // nil: any
		secret string
	}{
		"nobody listens":     {Options{URLs: []string{closedPort(t)}}, "nobody listens there", store.ErrUnavailable, ""},
		"silence":            {Options{URLs: []string{silent(t)}}, "does not answer in time", store.ErrUnavailable, ""},
		"another protocol":   {Options{URLs: []string{pretender(t, "SSH-2.0-OpenSSH_9.9")}}, "not a NATS server", nil, ""},
		"a web server":       {Options{URLs: []string{strings.Replace(web.URL, "http", "nats", 1)}}, "not a NATS server", nil, ""},
		"too old":            {Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "2.12.2"))}}, "use 2.12.3 or later", nil, ""},
		"strange version":    {Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "new"))}}, "cannot be compared", nil, ""},
		"no password":        {Options{URLs: []string{secured}}, "refuses the user", nil, ""},
		"wrong password":     {Options{URLs: []string{secured}, User: "u", Password: "hunter2"}, "refuses the user", nil, "hunter2"},
		"wrong token":        {Options{URLs: []string{secured}, Token: "hunter2"}, "refuses the user", nil, "hunter2"},
		"password in URL":    {Options{URLs: []string{strings.Replace(secured, "//", "//u:hunter2@", 1)}}, "refuses the user", nil, "hunter2"},
		"bad URL":            {Options{URLs: []string{"nats://u:hunter2@ho st:1"}}, "address 1 of 1", nil, "hunter2"},
		"URL with a path":    {Options{URLs: []string{"nats://h:1/b"}}, "bucket is an option", nil, ""},
		"http":               {Options{URLs: []string{"http://h:1"}}, `scheme "http"`, nil, ""},
		"no host":            {Options{URLs: []string{"nats:"}}, "not of the form", nil, ""},
		"no credentials":     {Options{URLs: []string{address}, CredsFile: filepath.Join(t.TempDir(), "none.creds")}, "credentials file", os.ErrNotExist, ""},
		"no TLS there":       {Options{URLs: []string{strings.Replace(address, "nats:", "tls:", 1)}}, "does not speak TLS", nil, ""},
		"no JetStream":       {Options{URLs: []string{noJetStream}}, "start the server with -js", nil, ""},
		"no permission":      {Options{URLs: []string{limited}, User: "u", Password: "p"}, "may not do what a member does", nil, ""},
		"replicas alone":     {Options{URLs: []string{address}, Bucket: bucket(), Replicas: 3}, "give 1 replica", nil, ""},
		"must exist":         {Options{URLs: []string{address}, Bucket: bucket(), MustExist: true}, "no member has used", store.ErrNotFound, ""},
		"reading what is no": {Options{URLs: []string{address}, Bucket: bucket(), ReadOnly: true}, "no member has used", store.ErrNotFound, ""},
		"bad bucket":         {Options{URLs: []string{address}, Bucket: "a.b"}, "letters, digits", nil, ""},
		"two replicas":       {Options{URLs: []string{address}, Replicas: 2}, "give 1, 3 or 5", nil, ""},
		"two secrets":        {Options{URLs: []string{address}, User: "u", Token: "hunter2"}, "both a user and a token", nil, "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.o.Timeout = 20 * time.Second; name == "silence" || name == "a web server" {
				c.o.Timeout = 300 * time.Millisecond
			}
			s, err := Open(deadline(t), c.o)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			t.Log(err)
			if !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %q, want %q and %v in it", err, c.want, c.is)
			}
			if c.secret != "" && strings.Contains(err.Error(), c.secret) {
				t.Errorf("error %q tells a secret", err)
			}
			if errors.Is(err, store.ErrUnknown) {
				t.Errorf("error %q says that something may have changed", err)
			}
		})
	}
}

func TestOpenIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("changed my mind")
	cancel(reason)
	if _, err := Open(ctx, Options{URLs: []string{silent(t)}}); !errors.Is(err, reason) {
		t.Fatalf("error %v, want the cause", err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
	if _, err := Open(ctx, Options{URLs: []string{silent(t)}, Timeout: time.Hour}); !errors.Is(err, reason) {
		t.Fatalf("error %v, want the cause", err)
	}
}

func TestServerVersions(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"2.12.3": true, "2.12.10": true, "2.15.2": true, "3.0.0": true, "2.13.0-RC.1": true,
		"2.12.2": false, "2.11.99": false, "1.99.99": false, "2.9.25": false, "": false, "two": false,
	} {
		if err := checkServerVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestForeignBuckets opens where streams of the right names are not what is needed.
func TestForeignBuckets(t *testing.T) {
	t.Parallel()
	made := openWith(t, Options{Bucket: bucket()})
	ctx := t.Context() // subtests wait for their turn: each call has the store's own timeout
	for name, c := range map[string]struct {
		spoil func(names) error
		want  string
	}{
		"a user's own bucket": {func(n names) error {
			c := made.docsConfig(1)
			c.Name, c.Subjects, c.AllowMsgTTL, c.SubjectDeleteMarkerTTL = n.docs(), []string{n.docsSubjects()}, false, 0
			return made.api(ctx, "STREAM.CREATE", c.Name, c, nil, true)
		}, "no time to live"},
		"in memory": {func(n names) error {
			c := made.logConfig(1)
			c.Name, c.Subjects, c.Storage = n.log(), []string{n.logSubject()}, 1
			return made.api(ctx, "STREAM.CREATE", c.Name, c, nil, true)
		}, "kept in memory"},
		"forgetful": {func(n names) error {
			c := made.logConfig(1)
			c.Name, c.Subjects, c.MaxAge = n.log(), []string{n.logSubject()}, time.Hour
			return made.api(ctx, "STREAM.CREATE", c.Name, c, nil, true)
		}, "forgets"},
		"subject taken": {func(n names) error {
			c := made.logConfig(1)
			c.Name, c.Subjects = "X"+n.log(), []string{n.logSubject()}
			return made.api(ctx, "STREAM.CREATE", c.Name, c, nil, true)
		}, "another stream takes the subjects"},
		"newer format": {func(n names) error {
			s := openWith(t, Options{Bucket: n.bucket})
			m, err := s.newest(ctx, n.format())
			if err == nil {
				_, err = s.swap(ctx, n.format(), m.seq, nil, []byte("rota 2"))
			}
			return err
		}, "has format 2"},
		"no format of ours": {func(n names) error {
			s := openWith(t, Options{Bucket: n.bucket})
			m, err := s.newest(ctx, n.format())
			if err == nil {
				_, err = s.swap(ctx, n.format(), m.seq, nil, []byte("hello"))
			}
			return err
		}, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bucket()
			if err := c.spoil(names{b}); err != nil {
				t.Fatal(err)
			}
			_, err := Open(deadline(t), Options{URLs: []string{address}, Bucket: b})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	b, ctx := bucket(), deadline(t)
	w := openWith(t, Options{Bucket: b})
	v := mustPut(t, w, "a", "x", "")
	index, err := w.Append(ctx, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	r := openWith(t, Options{Bucket: b, ReadOnly: true})
	wantValue(t, r, "a", "x", v)
	sent := r.conn.Stats().OutMsgs
	_, putErr := r.Put(ctx, store.Doc{Key: "a", Version: v})
	_, appendErr := r.Append(ctx, nil)
	_, sessionErr := r.OpenSession(ctx, time.Minute)
	for call, err := range map[string]error{
		"put": putErr, "append": appendErr, "open session": sessionErr, "delete": r.Delete(ctx, "a", v),
		"save snapshot": r.SaveSnapshot(ctx, store.Record{Index: index}), "trim": r.Trim(ctx, index),
	} {
		if !errors.Is(err, errReadOnly) || !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: %v, want a refusal", call, err)
		}
	}
	if now := r.conn.Stats().OutMsgs; now != sent {
		t.Errorf("%d messages were sent by refused calls", now-sent)
	}
	wantValue(t, w, "a", "x", v)
}
