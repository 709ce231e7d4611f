package nats_test

import (
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
	n := must.Get(server.NewServer(o))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(rig.Patience) {
		t.Fatal("the server does not become ready")
	}
	return n.ClientURL()
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
