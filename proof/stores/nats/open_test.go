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
	nc "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

// bare runs a server of one test, as these options say.
func bare(t *testing.T, o *server.Options) string {
	t.Helper()
	_, url := bareServer(t, o)
	return url
}

func bareServer(t *testing.T, o *server.Options) (n *server.Server, url string) {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	if o.JetStream && o.StoreDir == "" {
		o.StoreDir = folder(t)
	}
	n = must.Get(server.NewServer(o))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(rig.Patience) {
		t.Fatal("the server does not become ready")
	}
	return n, n.ClientURL()
}

// pretender greets like a NATS server of a version.
func pretender(t *testing.T, greeting string) string {
	t.Helper()
	return "nats://" + rig.Greets(t, func(c net.Conn) {
		fmt.Fprintf(c, "%s\r\n", greeting)
		buf := make([]byte, 4096)
		for n, err := c.Read(buf); err == nil; n, err = c.Read(buf) {
			if strings.Contains(string(buf[:n]), "PING") {
				fmt.Fprint(c, "PONG\r\n")
			}
		}
	})
}

const greeting = `INFO {"server_id":"x","version":"%s","max_payload":1048576,"headers":true}`

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secured := bare(t, &server.Options{JetStream: true, Username: "u", Password: "right"})
	limited := bare(t, &server.Options{JetStream: true, Users: []*server.User{
		{Username: "u", Password: "p",
			Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"nothing"}}}},
	}})
	noJetStream := bare(t, &server.Options{})
	o := func(o nats.Options) nats.Options {
		o.Timeout = 2 * time.Second // what is silent is asked for so long
		return o
	}
	rig.Refusals(t, nats.Open, map[string]rig.Refusal[nats.Options]{
		"nobody listens": rig.Says(o(nats.Options{URLs: []string{"nats://" + rig.Nobody(t)}}), store.ErrUnavailable,
			"nobody listens there"),
		"silence": rig.Says(o(nats.Options{URLs: []string{"nats://" + rig.Silent(t)}}), store.ErrUnavailable,
			"does not answer in time"),
		"another protocol": rig.Says(o(nats.Options{URLs: []string{pretender(t, "SSH-2.0-OpenSSH_9.9")}}), nil,
			"not a NATS server"),
		"a web server": rig.Says(o(nats.Options{URLs: []string{strings.Replace(web.URL, "http", "nats", 1)}}),
			nil, "not a NATS server"),
		"too old": rig.Says(o(nats.Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "2.12.2"))}}),
			nil, "use 2.12.3 or later"),
		"strange version": rig.Says(o(nats.Options{URLs: []string{pretender(t, fmt.Sprintf(greeting, "new"))}}), nil,
			"cannot be compared"),
		"no password": rig.Says(o(nats.Options{URLs: []string{secured}}), nil, "refuses the user"),
		"wrong password": rig.Says(o(nats.Options{URLs: []string{secured}, User: "u", Password: rig.Secret}), nil,
			"refuses the user"),
		"wrong token": rig.Says(o(nats.Options{URLs: []string{secured}, Token: rig.Secret}), nil, "refuses the user"),
		"password in URL": rig.Says(o(nats.Options{URLs: []string{strings.Replace(secured, "//", "//u:"+rig.Secret+
			"@", 1)}}), nil, "refuses the user"),
		"bad URL": rig.Says(o(nats.Options{URLs: []string{"nats://u:" + rig.Secret + "@ho st:1"}}), nil,
			"address 1 of 1"),
		"URL with a path": rig.Says(o(nats.Options{URLs: []string{"nats://h:1/b"}}), nil, "bucket is an option"),
		"http":            rig.Says(o(nats.Options{URLs: []string{"http://h:1"}}), nil, `scheme "http"`),
		"no host":         rig.Says(o(nats.Options{URLs: []string{"nats:"}}), nil, "not of the form"),
		"no credentials": rig.Says(o(nats.Options{URLs: []string{address},
			CredsFile: filepath.Join(t.TempDir(), "none.creds")}), os.ErrNotExist, "credentials file"),
		"no TLS there": rig.Says(o(nats.Options{URLs: []string{strings.Replace(address, "nats:", "tls:", 1)}}),
			nil, "does not speak TLS"),
		"no JetStream": rig.Says(o(nats.Options{URLs: []string{noJetStream}}), nil, "start the server with -js"),
		"no permission": rig.Says(o(nats.Options{URLs: []string{limited}, User: "u", Password: "p"}), nil,
			"may not do what a member does"),
		"replicas alone": rig.Says(o(nats.Options{URLs: []string{address}, Bucket: bucket(), Replicas: 3}), nil,
			"give 1 replica"),
		"must exist": rig.Says(o(nats.Options{URLs: []string{address}, Bucket: bucket(), MustExist: true}),
			store.ErrNotFound, "no member has used"),
		"reading what is no": rig.Says(o(nats.Options{URLs: []string{address}, Bucket: bucket(), ReadOnly: true}),
			store.ErrNotFound, "no member has used"),
		"bad bucket":   rig.Says(o(nats.Options{URLs: []string{address}, Bucket: "a.b"}), nil, "letters, digits"),
		"two replicas": rig.Says(o(nats.Options{URLs: []string{address}, Replicas: 2}), nil, "give 1, 3 or 5"),
		"two secrets": rig.Says(o(nats.Options{URLs: []string{address}, User: "u", Token: rig.Secret}), nil,
			"both a user and a token"),
	})
}

func TestOpenCancelled(t *testing.T) {
	t.Parallel()
	rig.Cancelled(t, nats.Open, nats.Options{URLs: []string{"nats://" + rig.Silent(t)}, Timeout: time.Hour})
	late := proxyTo(t, address)
	late.StallReplies()
	rig.Cancelled(t, nats.Open, nats.Options{URLs: []string{"nats://" + late.Addr()}, Timeout: time.Hour})
	rig.Heal(t, late)
	rig.Eventually(t, "the connection that comes too late is closed", func() bool { return late.Stats().Open == 0 })
}

// TestStreamIsMadeMeanwhile: another member makes a stream after this one has found none, and does not make it in quite
// the same way.
func TestStreamIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	first, r := bucket(), startRelay(t)
	openWith(t, nats.Options{Bucket: first})
	door, others := backdoorTo(t, bucket()), backdoorTo(t, first)
	r.onceAt("$JS.API.STREAM.INFO."+door.docs(), func(_ *nc.Msg, pass func() []byte) []byte {
		none := pass()
		c := others.stream(t, others.docs()).CachedInfo().Config
		c.Name, c.Subjects, c.Description = door.docs(), []string{door.subject(">")}, "of another version"
		must.Succeed(t, must.Err(door.js.CreateStream(rig.Deadline(t), c)))
		return none
	})
	r.open(t, nats.Options{Bucket: door.bucket})
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
		must.Succeed(t, must.Err(door.js.CreateStream(rig.Deadline(t), c)))
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
		"subject taken": {func(t *testing.T, d backdoor) { create(t, log, "X"+d.log(), d.logSubject()) },
			"another stream takes the subjects"},
		"newer format":      {func(t *testing.T, d backdoor) { mark(t, d, "rota 4") }, "has format 4"},
		"older format":      {func(t *testing.T, d backdoor) { mark(t, d, "rota 2") }, "submit the jobs again"},
		"no format of ours": {func(t *testing.T, d backdoor) { mark(t, d, "hello") }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := backdoorTo(t, bucket())
			c.spoil(t, d)
			rig.Refused(t, nats.Open,
				nats.Options{URLs: []string{address}, Bucket: d.bucket, Timeout: 20 * time.Second}, nil, c.want)
		})
	}
}

// The permissions that the guide of this store lists, for the bucket "rota".
var (
	observerMay = []string{
		"$JS.API.INFO",
		"$JS.API.STREAM.INFO.{KV_rota,ROTA_rota_log}", "$JS.API.STREAM.MSG.GET.{KV_rota,ROTA_rota_log}",
		"$JS.API.DIRECT.GET.{KV_rota,ROTA_rota_log}",
		"$JS.API.CONSUMER.{CREATE,INFO,DELETE,MSG.NEXT}.{KV_rota,ROTA_rota_log}.>",
	}
	memberMay = append([]string{
		"$JS.API.STREAM.PURGE.{KV_rota,ROTA_rota_log}", "$KV.rota.>", "rota.rota.log",
	}, observerMay...)
	flowsMay = append([]string{
		"$JS.API.STREAM.{CREATE,UPDATE,INFO,DELETE,PURGE,MSG.GET}.*", "$JS.API.DIRECT.GET.*", "rota.rota.*",
	}, memberMay...)
	firstMay = append([]string{"$JS.API.STREAM.{CREATE,UPDATE}.{KV_rota,ROTA_rota_log}"}, memberMay...)
)

// spelled writes out the choices in braces.
func spelled(short []string) []string {
	var out []string
	for _, s := range short {
		before, rest, ok := strings.Cut(s, "{")
		if !ok {
			out = append(out, s)
			continue
		}
		choices, after, _ := strings.Cut(rest, "}")
		for _, c := range strings.Split(choices, ",") {
			out = append(out, spelled([]string{before + c + after})...)
		}
	}
	return out
}

func user(name string, may []string) *server.User {
	return &server.User{Username: name, Password: "p", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: spelled(may)},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}}
}

func TestLeastPermissions(t *testing.T) {
	t.Parallel()
	url := bare(t, &server.Options{JetStream: true, SyncAlways: true, Users: []*server.User{
		user("first", firstMay), user("member", memberMay), user("observer", observerMay), user("flows", flowsMay),
	}})
	as := func(name string) nats.Options {
		return nats.Options{URLs: []string{url}, User: name, Password: "p", Timeout: 20 * time.Second}
	}
	if _, err := nats.Open(rig.Deadline(t), as("member")); err == nil ||
		!strings.Contains(err.Error(), "may not do what a member does") {
		t.Fatalf("a user who may not make streams opened a new bucket: %v", err)
	}
	openWith(t, as("first"))
	if _, err := nats.Open(rig.Deadline(t), as("observer")); err == nil ||
		!strings.Contains(err.Error(), "may not do what a member does") {
		t.Fatalf("a user who may only read opened a bucket to write: %v", err)
	}
	s := openWith(t, as("member"))
	ctx := rig.Deadline(t)
	hints := must.Get(s.Watch(ctx, "a/"))(t)
	appends := must.Get(s.WatchLog(ctx))(t)
	<-hints
	<-appends
	v := mustPut(t, rig.Session(t, s, time.Minute), "a/1", "x", "")
	rig.Hinted(t, hints)
	if docs, err := s.List(ctx, ""); err != nil || len(docs) != 1 {
		t.Fatalf("list: %v, %v", docs, err)
	}
	indexes := appendN(t, s, 20)
	rig.Hinted(t, appends)
	saveAt(t, s, indexes[9], noise(1, 2*most))
	must.Succeed(t, s.Trim(ctx, indexes[4]))

	f, edge := openWith(t, as("flows")), store.Shard{Edge: "e"}
	must.Succeed(t, f.MakeFlow(ctx, "f@1", []store.Shard{edge}))
	u := store.Unit{Name: "u", Outputs: []store.Put{{Shard: edge, Data: noise(2, most/2)}}}
	must.Succeed(t, must.Err(f.Commit(ctx, "f@1", u)))
	got, err := openWith(t, as("flows")).Receive(ctx, "f@1", store.Receive{Shard: edge, Limit: 1, Lease: time.Minute})
	if err != nil || len(got) != 1 {
		t.Fatalf("receive: %d messages, %v", len(got), err)
	}
	must.Succeed(t, f.DropFlow(ctx, "f@1"))

	o := as("observer")
	o.ReadOnly = true
	r := openWith(t, o)
	wantValue(t, r, "a/1", "x", v)
	wantSnapshot(t, r, indexes[9], noise(1, 2*most))
	if page, err := r.Read(ctx, indexes[4], 100); err != nil || len(page.Records) != 15 {
		t.Fatalf("read: %d records, %v", len(page.Records), err)
	}
	if _, err := r.Read(ctx, indexes[3], 100); !errors.Is(err, store.ErrTruncated) {
		t.Fatalf("read of what is trimmed: %v", err)
	}
	seen := must.Get(r.Watch(ctx, ""))(t)
	<-seen
	must.Succeed(t, s.Delete(ctx, "a/1", v))
	rig.Hinted(t, seen)
}

// usable waits until a handle's connection is there again.
func usable(t *testing.T, s *nats.Store) {
	t.Helper()
	rig.Eventually(t, "the handle can be used again", func() bool {
		_, err := s.Read(context.Background(), 0, 1)
		return err == nil || errors.Is(err, store.ErrTruncated)
	})
}

// ping is more bytes than a ping of the client or the server has, and fewer than any request or answer.
const ping = 16

// TestOwnTimeout bounds calls whose ctx has no end.
func TestOwnTimeout(t *testing.T) {
	t.Parallel()
	p := proxyTo(t, address)
	through := openWith(t, nats.Options{URLs: []string{"nats://" + p.Addr()}, Bucket: bucket(),
		Timeout: time.Second}) // the client itself gives up a silent server after two seconds, at the earliest
	p.StallReplies()
	_, err := through.Append(context.Background(), nil)
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "within the store's timeout") {
		t.Errorf("append: error %v, want ErrUnknown and the store's timeout", err)
	}
	_, err = through.Get(context.Background(), "a")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("get: error %v, want ErrUnavailable", err)
	}
}

// TestFullServer appends until the server has no room left.
func TestFullServer(t *testing.T) {
	t.Parallel()
	s := openWith(t, nats.Options{URLs: []string{bare(t,
		&server.Options{JetStream: true, SyncAlways: true, JetStreamMaxStore: 1 << 20, JetStreamMaxMemory: 1 << 20})}})
	data, stored := make([]byte, 64<<10), uint64(0)
	for {
		index, err := s.Append(rig.Deadline(t), data)
		if err == nil {
			stored = index
			continue
		}
		t.Logf("after %d records: %v", stored, err)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) ||
			!strings.Contains(err.Error(), "no space left") {
			t.Fatalf("append to a full server: %v, want ErrUnavailable", err)
		}
		break
	}
	if page, err := s.Read(rig.Deadline(t), stored, 1); err != nil || page.Head != stored {
		t.Fatalf("head %d, %v; want %d, the last that was acknowledged", page.Head, err, stored)
	}
}
