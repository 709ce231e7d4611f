package nats_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/stores/rig"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/nats"
)

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
		"$JS.API.STREAM.{CREATE,INFO,DELETE,PURGE,MSG.GET}.*", "$JS.API.DIRECT.GET.*", "rota.rota.*",
	}, memberMay...)
	firstMay = append([]string{"$JS.API.STREAM.CREATE.{KV_rota,ROTA_rota_log}"}, memberMay...)
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
	s := openWith(t, as("member"))
	ctx := rig.Deadline(t)
	hints := must.Get(s.Watch(ctx, "a/"))(t)
	appends := must.Get(s.WatchLog(ctx))(t)
	<-hints
	<-appends
	v := mustPut(t, newSession(t, s, time.Minute), "a/1", "x", "")
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
