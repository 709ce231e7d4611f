package datastore

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	gds "cloud.google.com/go/datastore"

	"github.com/rota-run/rota/contrib/google/internal/emulator"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/source/directory"
)

var _ directory.Storage = (*Tasks)(nil)

// stored is a task as those write it who make tasks.
type stored struct {
	Version  string   `datastore:"version"`
	Data     string   `datastore:"data,noindex"`
	Updated  int64    `datastore:"last_updated"`
	Metadata []string `datastore:"metadata"`
}

// bed is a place with tasks, and a source that reads it.
type bed struct {
	t      *testing.T
	ctx    context.Context
	client *gds.Client
	tasks  *Tasks
	state  *state
	now    time.Time
}

func newBed(t *testing.T, s emulator.Servers, text string) *bed {
	t.Setenv("DATASTORE_EMULATOR_HOST", s.Datastore())
	project := emulator.Project()
	files, err := OpenTasks(project + "/blue" + text)
	must.Succeed(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	b := &bed{t: t, ctx: ctx, tasks: files.(*Tasks), now: time.Now()}
	b.client, err = gds.NewClient(ctx, project)
	must.Succeed(t, err)
	t.Cleanup(func() { b.client.Close(); b.tasks.Close() })
	return b
}

func key(id string) *gds.Key {
	k := gds.NameKey(tasksKind, id, nil)
	k.Namespace = "blue"
	return k
}

// put writes a task that was updated so long ago.
func (b *bed) put(id, version, data string, ago time.Duration, metadata ...string) {
	b.t.Helper()
	must.Succeed(b.t, must.Err(b.client.Put(b.ctx, key(id),
		&stored{version, data, b.now.Add(-ago).UnixMilli(), metadata})))
}

func (b *bed) remove(id string) {
	b.t.Helper()
	must.Succeed(b.t, b.client.Delete(b.ctx, key(id)))
}

// after looks so much later, and compares what there is.
func (b *bed) after(d time.Duration, what, want string) {
	b.t.Helper()
	b.now = b.now.Add(d)
	next, err := b.tasks.r.next(b.ctx, b.state, b.now)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	b.state = next
	var got []string
	for _, e := range next.files().list {
		got = append(got, e.Name()+" "+next.tasks[e.Name()].data)
	}
	if s := strings.Join(got, ", "); s != want {
		b.t.Errorf("%s: there is %q, want %q", what, s, want)
	}
}

// TestOnEmulators runs what needs a server.
func TestOnEmulators(t *testing.T) {
	emulator.Each(t, func(t *testing.T, s emulator.Servers) {
		for name, test := range map[string]func(*testing.T, emulator.Servers){
			"tasks follow their entities": tasksFollowTheirEntities, "odd entities": oddEntities,
			"many tasks": manyTasks, "file system": fileSystem, "away": away,
			"logs": logs, "logs of all types": logsOfAllTypes,
		} {
			t.Run(name, func(t *testing.T) { test(t, s) })
		}
	})
}

const (
	backend  = "squad=backend"
	mine     = "owner = udoprog"
	filtered = "?filter=squad=backend&filter=owner%20=%20udoprog"
)

func tasksFollowTheirEntities(t *testing.T, s emulator.Servers) {
	b := newBed(t, s, filtered)
	b.after(0, "nothing", "")
	b.put("a", "v1", "A1", 0, backend, mine, "more")
	b.put("b", "v1", "B1", 0, backend)
	b.after(time.Second, "added, one with the metadata", "a.json A1")
	b.put("a", "v1", "A2", 0, backend, mine)
	b.after(time.Second, "the version is the same", "a.json A1")
	b.put("a", "v2", "A2", 0, backend, mine)
	b.after(time.Second, "the version is another one", "a.json A2")
	b.put("b", "v2", "B2", 0, mine, backend)
	b.after(time.Second, "metadata came", "a.json A2, b.json B2")
	b.put("a", "v3", "A3", 0, backend)
	b.after(time.Second, "metadata went", "b.json B2")
	b.put("c", "v1", "C1", 20*time.Second, backend, mine)
	b.after(time.Second, "by a clock within the allowance", "b.json B2, c.json C1")
	b.put("d", "v1", "D1", time.Hour, backend, mine)
	b.put("c", "v2", "C2", time.Hour, backend, mine)
	b.remove("b")
	b.after(time.Second, "what only a reading of all keys finds", "b.json B2, c.json C1")
	b.after(time.Minute, "all keys were read", "c.json C1, d.json D1")
	b.after(10*time.Minute, "all versions were compared", "c.json C2, d.json D1")
	b.put("e", "v1", "E1", -time.Hour, backend, mine)
	b.after(time.Second, "by a clock that is ahead", "c.json C2, d.json D1, e.json E1")
	b.put("f", "v1", "F1", 0, backend, mine)
	b.after(time.Second, "it hides nothing", "c.json C2, d.json D1, e.json E1, f.json F1")
	for _, id := range []string{"c", "d", "e", "f"} {
		b.remove(id)
	}
	b.after(time.Minute, "all are gone", "")
}

func oddEntities(t *testing.T, s emulator.Servers) {
	b := newBed(t, s, "")
	for _, id := range []string{"a/b", "a%2Fb", ".hidden", "w.x"} {
		b.put(id, "", "x", 0)
	}
	number := gds.IDKey(tasksKind, 7, nil)
	number.Namespace = "blue"
	odd := gds.PropertyList{
		{Name: "version", Value: int64(3)}, {Name: "data", Value: []byte("bytes"), NoIndex: true},
		{Name: "last_updated", Value: b.now}, {Name: "metadata", Value: "one"},
		{Name: "other", Value: true},
	}
	must.Succeed(t, must.Err(b.client.Put(b.ctx, number, &odd)))
	none := gds.PropertyList{{Name: "data", Value: 1.5}}
	must.Succeed(t, must.Err(b.client.Put(b.ctx, key("none"), &none)))
	b.after(0, "each has a file",
		"%2Ehidden.json x, 7.json bytes, a%252Fb.json x, a%2Fb.json x, none.json , w.x.json x")
	b.put("w.x", "", "y", 0)
	b.after(time.Second, "without a version the data counts",
		"%2Ehidden.json x, 7.json bytes, a%252Fb.json x, a%2Fb.json x, none.json , w.x.json y")
	if got := b.state.tasks["7.json"]; got.version != "3" || got.updated != b.now.Add(-time.Second).UnixMilli() {
		t.Errorf("%+v", got)
	}
}

func manyTasks(t *testing.T, s emulator.Servers) {
	b := newBed(t, s, "")
	const n = 1200
	for from := 0; from < n; from += 400 {
		var keys []*gds.Key
		var all []stored
		for i := from; i < from+400; i++ {
			keys, all = append(keys, key(fmt.Sprintf("t%04d", i))),
				append(all, stored{Version: "1", Data: "x", Updated: b.now.UnixMilli()})
		}
		must.Succeed(t, must.Err(b.client.PutMulti(b.ctx, keys, all)))
	}
	next, err := b.tasks.r.next(b.ctx, nil, b.now)
	if err != nil || len(next.tasks) != n {
		t.Fatalf("%d of %d, %v", len(next.tasks), n, err)
	}
}

// The files are those of a directory, also for those who read it in pieces.
func fileSystem(t *testing.T, s emulator.Servers) {
	b := newBed(t, s, "?poll=1ms")
	b.put("a", "1", "A", 0)
	b.put("b", "1", "B", 0)
	if err := fstest.TestFS(b.tasks, "a.json", "b.json"); err != nil {
		t.Error(err)
	}
	if data, err := fs.ReadFile(b.tasks, "b.json"); string(data) != "B" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// While Datastore is away a look is an error, so that nothing is removed; then it goes on.
func away(t *testing.T, s emulator.Servers) {
	b := newBed(t, s, "?poll=1ms&timeout=1s")
	b.put("a", "1", "A", 0)
	whole := b.tasks.r.client
	t.Setenv("DATASTORE_EMULATOR_HOST", "127.0.0.1:1")
	nobody, err := gds.NewClient(b.ctx, "nobody")
	must.Succeed(t, err)
	defer nobody.Close()
	use := func(c *gds.Client) {
		b.tasks.mu.Lock()
		defer b.tasks.mu.Unlock()
		for b.tasks.loading != nil { // the goroutine that looks has the reader as it was
			loading := b.tasks.loading
			b.tasks.mu.Unlock()
			<-loading
			b.tasks.mu.Lock()
		}
		b.tasks.r.client = c
	}
	read := func() (names []string, err error) {
		all, err := fs.ReadDir(b.tasks, ".")
		for _, e := range all {
			names = append(names, e.Name())
		}
		return names, err
	}
	until := func(what string, ok func(names []string, err error) bool) {
		t.Helper()
		for b.ctx.Err() == nil {
			names, err := read()
			if ok(names, err) {
				return
			}
			time.Sleep(5 * time.Millisecond) // waits: for a look
		}
		t.Fatal(what)
	}
	there := func(names []string, err error) bool { return err == nil && slices.Equal(names, []string{"a.json"}) }
	use(nobody)
	until("an error that says what to try", func(_ []string, err error) bool {
		return err != nil && strings.Contains(err.Error(), "try: look whether Datastore is reached")
	})
	use(whole)
	until("it is read", there)
	use(nobody)
	until("an error", func(_ []string, err error) bool { return err != nil })
	use(whole)
	until("it is read again", there)
}

func TestOpenTasks(t *testing.T) {
	t.Setenv("DATASTORE_EMULATOR_HOST", "127.0.0.1:1")
	for text, want := range map[string]string{
		"":                  "is not PROJECT",
		"a b":               "is not PROJECT",
		"p?filer=x":         `unknown parameter "filer": it takes database, drift, filter, kind, poll, reload, rescan, timeout`,
		"p?poll=5":          `"5" is not a time`,
		"p?poll=-1s":        "is not a time",
		"p?poll=1s&poll=2s": "is there twice",
		"p?%zz":             "is not KEY=VALUE",
	} {
		if _, err := OpenTasks(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	f, err := OpenTasks("//p/ns?filter=a=1&filter=b&drift=1s&poll=2s&rescan=3s&reload=4s&timeout=5s&kind=k&database=d")
	must.Succeed(t, err)
	c := f.(*Tasks).r.c
	if got := fmt.Sprint(c.Project, c.Namespace, c.Kind, c.Database, c.Filter, c.Drift, c.Poll, c.Rescan, c.Reload,
		c.Timeout); got != "pnskd[a=1 b] 1s 2s 3s 4s 5s" {
		t.Errorf("%s", got)
	}
}
