package nats_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/port"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// bare runs a server of one test, as these options say.
func bare(t *testing.T, o *server.Options) string {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	if o.JetStream && o.StoreDir == "" {
		o.StoreDir = folder(t)
	}
	n, err := server.NewServer(o)
	must.Succeed(t, err)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(rig.Patience) {
		t.Fatal("the server does not become ready")
	}
	return n.ClientURL()
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	t.Cleanup(func() { l.Close() })
	return "nats://" + l.Addr().String()
}

func closedPort(t *testing.T) string {
	t.Helper()
	addrs, release, err := port.Find(1)
	must.Succeed(t, err)
	t.Cleanup(release)
	return "nats://" + addrs[0]
}

// pretender greets like a NATS server of a version.
func pretender(t *testing.T, greeting string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
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
		o      nats.Options
		want   string
		is     error // nil: any
		secret string
	}{
		"nobody listens":     {nats.Options{URLs: []string{closedPort(t)}}, "nobody listens there", store.ErrUnavailable, ""},
		"silence":            {nats.Options{URLs: []string{silent(t)}}, "does not answer in time", store.ErrUnavailable, ""},
		"another protocol":   {nats.Options{URLs: []string{pretender(t, "SSH-2.0-OpenSSH_9.9")}}, "not a NATS server", nil, ""},
		"a web server":       {nats.Options{URLs: []string{strings.Replace(web.URL, "http", "nats", 1)}}, "not a NATS server", nil, ""},
		"too old":            {nats.Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "2.12.2"))}}, "use 2.12.3 or later", nil, ""},
		"strange version":    {nats.Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "new"))}}, "cannot be compared", nil, ""},
		"no password":        {nats.Options{URLs: []string{secured}}, "refuses the user", nil, ""},
		"wrong password":     {nats.Options{URLs: []string{secured}, User: "u", Password: "hunter2"}, "refuses the user", nil, "hunter2"},
		"wrong token":        {nats.Options{URLs: []string{secured}, Token: "hunter2"}, "refuses the user", nil, "hunter2"},
		"password in URL":    {nats.Options{URLs: []string{strings.Replace(secured, "//", "//u:hunter2@", 1)}}, "refuses the user", nil, "hunter2"},
		"bad URL":            {nats.Options{URLs: []string{"nats://u:hunter2@ho st:1"}}, "address 1 of 1", nil, "hunter2"},
		"URL with a path":    {nats.Options{URLs: []string{"nats://h:1/b"}}, "bucket is an option", nil, ""},
		"http":               {nats.Options{URLs: []string{"http://h:1"}}, `scheme "http"`, nil, ""},
		"no host":            {nats.Options{URLs: []string{"nats:"}}, "not of the form", nil, ""},
		"no credentials":     {nats.Options{URLs: []string{address}, CredsFile: filepath.Join(t.TempDir(), "none.creds")}, "credentials file", os.ErrNotExist, ""},
		"no TLS there":       {nats.Options{URLs: []string{strings.Replace(address, "nats:", "tls:", 1)}}, "does not speak TLS", nil, ""},
		"no JetStream":       {nats.Options{URLs: []string{noJetStream}}, "start the server with -js", nil, ""},
		"no permission":      {nats.Options{URLs: []string{limited}, User: "u", Password: "p"}, "may not do what a member does", nil, ""},
		"replicas alone":     {nats.Options{URLs: []string{address}, Bucket: bucket(), Replicas: 3}, "give 1 replica", nil, ""},
		"must exist":         {nats.Options{URLs: []string{address}, Bucket: bucket(), MustExist: true}, "no member has used", store.ErrNotFound, ""},
		"reading what is no": {nats.Options{URLs: []string{address}, Bucket: bucket(), ReadOnly: true}, "no member has used", store.ErrNotFound, ""},
		"bad bucket":         {nats.Options{URLs: []string{address}, Bucket: "a.b"}, "letters, digits", nil, ""},
		"two replicas":       {nats.Options{URLs: []string{address}, Replicas: 2}, "give 1, 3 or 5", nil, ""},
		"two secrets":        {nats.Options{URLs: []string{address}, User: "u", Token: "hunter2"}, "both a user and a token", nil, "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.o.Timeout = 20 * time.Second; name == "silence" || name == "a web server" {
				c.o.Timeout = 300 * time.Millisecond
			}
			s, err := nats.Open(rig.Deadline(t), c.o)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			t.Log(err)
			if !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %q, want %q and %v in it", err, c.want, c.is)
			}
			if c.secret != "" && strings.Contains(err.Error(), c.secret) {
				t.Errorf("error %q contains a secret", err)
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
	if _, err := nats.Open(ctx, nats.Options{URLs: []string{silent(t)}}); !errors.Is(err, reason) {
		t.Fatalf("error %v, want the cause", err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
	if _, err := nats.Open(ctx, nats.Options{URLs: []string{silent(t)}, Timeout: time.Hour}); !errors.Is(err, reason) {
		t.Fatalf("error %v, want the cause", err)
	}
}

// TestForeignBuckets opens buckets whose streams have the right names, and are not what a store needs.
func TestForeignBuckets(t *testing.T) {
	t.Parallel()
	made := bucket()
	openWith(t, nats.Options{Bucket: made})
	door := backdoorTo(t, made)
	docs, log := door.stream(t, door.docs()).CachedInfo().Config, door.stream(t, door.log()).CachedInfo().Config
	create := func(t *testing.T, c jetstream.StreamConfig, name, subjects string) {
		t.Helper()
		c.Name, c.Subjects = name, []string{subjects}
		if _, err := door.js.CreateStream(rig.Deadline(t), c); err != nil {
			t.Fatal(err)
		}
	}
	mark := func(t *testing.T, d backdoor, text string) {
		t.Helper()
		openWith(t, nats.Options{Bucket: d.bucket})
		d.write(t, d.subject("format"), text)
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, backdoor)
		want  string
	}{
		"a user's own bucket": {func(t *testing.T, d backdoor) {
			c := docs
			c.AllowMsgTTL, c.SubjectDeleteMarkerTTL = false, 0
			create(t, c, d.docs(), d.subject(">"))
		}, "no time to live"},
		"in memory": {func(t *testing.T, d backdoor) {
			c := log
			c.Storage = jetstream.MemoryStorage
			create(t, c, d.log(), d.logSubject())
		}, "kept in memory"},
		"forgetful": {func(t *testing.T, d backdoor) {
			c := log
			c.MaxAge = time.Hour
			create(t, c, d.log(), d.logSubject())
		}, "forgets"},
		"subject taken":     {func(t *testing.T, d backdoor) { create(t, log, "X"+d.log(), d.logSubject()) }, "another stream takes the subjects"},
		"newer format":      {func(t *testing.T, d backdoor) { mark(t, d, "rota 4") }, "has format 4"},
		"older format":      {func(t *testing.T, d backdoor) { mark(t, d, "rota 2") }, "submit the jobs again"},
		"no format of ours": {func(t *testing.T, d backdoor) { mark(t, d, "hello") }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := backdoorTo(t, bucket())
			c.spoil(t, d)
			_, err := nats.Open(rig.Deadline(t), nats.Options{URLs: []string{address}, Bucket: d.bucket, Timeout: 20 * time.Second})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	b, ctx := bucket(), rig.Deadline(t)
	w := openWith(t, nats.Options{Bucket: b})
	v := mustPut(t, w, "a", "x", "")
	index, err := w.Append(ctx, []byte("one"))
	must.Succeed(t, err)
	link := startRelay(t)
	r := link.open(t, nats.Options{Bucket: b, ReadOnly: true})
	wantValue(t, r, "a", "x", v)
	sent := link.sent(t, r, func() {
		_, putErr := r.Put(ctx, store.Doc{Key: "a", Version: v})
		_, appendErr := r.Append(ctx, nil)
		_, sessionErr := r.OpenSession(ctx, time.Minute)
		for call, err := range map[string]error{
			"put": putErr, "append": appendErr, "open session": sessionErr, "delete": r.Delete(ctx, "a", v),
			"save snapshot": r.SaveSnapshot(ctx, store.Record{Index: index}), "trim": r.Trim(ctx, index), "seed": r.SeedLog(ctx, 1),
		} {
			if !errors.Is(err, store.ErrReadOnly) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v, want a refusal", call, err)
			}
		}
	})
	if sent != 0 {
		t.Errorf("%d requests were sent by refused calls", sent)
	}
	wantValue(t, w, "a", "x", v)
}
