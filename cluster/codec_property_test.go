package cluster

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/ordered"
	"github.com/rota-run/rota/internal/proof/must"
)

var writeGolden = flag.Bool("write-codec", false,
	"write testdata/codec again; a change of what is there is a change of Format")

// samples is one of each command that stories of the plan's placement draw from; their choices go by its order.
func samples() []Command {
	return []Command{
		PrepareJoin{}, AcceptJoin{}, AbortJoin{}, LeaveCluster{}, ReleaseHold{}, ConfirmMember{}, DrainMember{},
		SubmitJob{}, UpdateJob{}, KillJob{},
		Started{}, Stopped{}, FinishPartition{}, SplitPartition{}, UnparkPartition{}, Configure{}, AdvanceWindow{},
	}
}

// allSamples is one of each command.
func allSamples() []Command {
	return slices.DeleteFunc(slices.Clone(commands[:]), func(c Command) bool { return c == nil })
}

// A kind of command that the table does not have is never read, and not in the tests of the encoding.
func TestEveryCommandIsHere(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("*.go"))(t)
	declared := 0
	for _, name := range files {
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "tag" || f.Recv == nil {
				continue
			}
			declared++
			name := fmt.Sprint(f.Recv.List[0].Type)
			if !slices.ContainsFunc(allSamples(), func(c Command) bool { return reflect.TypeOf(c).Name() == name }) {
				t.Errorf("commands has no %s, or another of its tag", name)
			}
		}
	}
	if declared < 25 {
		t.Errorf("the source declares %d commands", declared)
	}
}

// What is written is read again as it was, each field of each command.
func TestEveryEntryRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &choices{rapid.SliceOfN(rapid.Byte(), 0, 120).Draw(rt, "choices")}
		e := Entry{Index: 7, Writer: WriterID(c.text()), Seq: uint64(c.n(256)), AtMS: int64(c.n(256)) - 100,
			BaseIndex: Index(c.n(256)), BaseChain: Hash(c.n(256))}
		for _, sample := range allSamples() {
			e.Commands = append(e.Commands, c.filled(sample))
		}
		data := e.Encode()
		got, err := DecodeEntry(7, data)
		must.Succeed(rt, err)
		got.data = nil
		if !reflect.DeepEqual(got, e) {
			rt.Fatalf("wrote %+v\nread  %+v", e, got)
		}
		if again := got.Encode(); !bytes.Equal(again, data) {
			rt.Fatalf("wrote %x, then %x", data, again)
		}
		for cut := range data {
			if _, err := DecodeEntry(7, data[:cut]); err == nil {
				rt.Fatalf("the first %d of %d bytes were read as an entry", cut, len(data))
			}
		}
	})
}

// The bytes of each command and of a snapshot mean what they meant and are written as they were, as long as Format is
// what it is.
func TestGoldenBytes(t *testing.T) {
	t.Parallel()
	if *writeGolden {
		writeGoldenBytes(t)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(goldenFile(t, "commands.golden")) {
		name, code, text := goldenLine(t, line)
		e, err := DecodeEntry(1, code)
		if err != nil || reflect.TypeOf(e.Commands[0]).Name() != name || fmt.Sprintf("%q", e) != text {
			t.Fatalf("%s\nwas %s\nand is read as %q, %v", line, text, e, err)
		}
		e.data = nil
		if again := e.Encode(); !bytes.Equal(again, code) {
			t.Fatalf("%s was %x, and is written as %x", name, code, again)
		}
		seen[name] = true
	}
	for _, c := range allSamples() {
		if name := reflect.TypeOf(c).Name(); !seen[name] {
			t.Errorf("testdata/codec/commands.golden has no %s: add lines for it, change none that are there", name)
		}
	}
	mustReadGoldenSnapshot(t)
}

func goldenLine(t *testing.T, line string) (name string, code []byte, text string) {
	t.Helper()
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	code, err := hex.DecodeString(f[1])
	must.Succeed(t, err)
	return f[0], code, f[2]
}

func mustReadGoldenSnapshot(t *testing.T) {
	t.Helper()
	_, data, text := goldenLine(t, goldenFile(t, "snapshot.golden"))
	v, err := DecodeSnapshot(data)
	if err != nil || fmt.Sprintf("%q", v.String()) != text {
		t.Fatalf("a snapshot was %s\nand is read as %q, %v", text, v.String(), err)
	}
	if again := v.Snapshot(); !bytes.Equal(again, data) {
		t.Fatalf("a snapshot was %x, and is written as %x", data, again)
	}
	if ordered.Len(&v.members) == 0 || ordered.Len(&v.jobs) == 0 ||
		ordered.Len(&v.partitions) == 0 || ordered.Len(&v.writers) == 0 {
		t.Fatalf("the snapshot holds too little:\n%s", v)
	}
}

func goldenFile(t *testing.T, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile("testdata/codec/" + name))(t)
	return string(data)
}

func writeGoldenBytes(t *testing.T) {
	t.Helper()
	var out strings.Builder
	for _, sample := range allSamples() {
		for _, seed := range []string{"", "\x02\x03\x05\x07\x0b\x0d\x11\x13\x17\x1d",
			"\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03\x03"} {
			c := (&choices{[]byte(seed)}).filled(sample)
			e := Entry{Index: 1, Writer: "w", Seq: 2, AtMS: 3, BaseIndex: 4, BaseChain: 5, Commands: []Command{c}}
			fmt.Fprintf(&out, "%s %x %q\n", reflect.TypeOf(c).Name(), e.Encode(), e)
		}
	}
	files := map[string]string{"commands.golden": out.String()}
	rich, _ := played(t, richStory(t))
	for name, v := range map[string]Value{"snapshot.golden": rich, "windows.golden": windowValue(t)} {
		files[name] = fmt.Sprintf("snapshot %x %q\n", v.Snapshot(), v.String())
	}
	for name, text := range files {
		must.Succeed(t, os.WriteFile("testdata/codec/"+name, []byte(text), 0o600))
	}
}

// richStory is choices that make a cluster with something of everything.
func richStory(t interface{ Fatalf(string, ...any) }) string {
	data, err := os.ReadFile("testdata/codec/story.golden")
	if err != nil {
		t.Fatalf("%v", err)
	}
	story, err := strconv.Unquote(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return story
}

// What another Rota wrote is told from garbage, so that a member can say what to do; nothing of it is read.
func TestAnotherFormatIsNamed(t *testing.T) {
	t.Parallel()
	v, _ := played(t, richStory(t))
	snapshot, entry := v.Snapshot(), Entry{Writer: "w", Seq: 1, Commands: []Command{Configure{Retention: 3}}}.Encode()
	for format, try := range map[byte]string{1: "try: an empty place", byte(Format) - 1: "try: an empty place",
		byte(Format) + 1: "try: upgrade this Rota", 99: "try: upgrade this Rota"} {
		snapshot[1], entry[1] = format, format
		_, err := DecodeSnapshot(snapshot)
		mustSay(t, err, try)
		_, err = DecodeEntry(9, entry)
		mustSay(t, err, "entry 9 is of format "+strconv.Itoa(int(format)))
		_, err = DecodeEntry(9, (&FormatError{Format: uint32(format)}).Entry())
		mustSay(t, err, try)
		_, _, err = Value{}.Decode(1, entry) // the first one of a log
		mustSay(t, err, try)
		switch _, ok, err := v.Decode(v.index+1, entry); {
		case format > byte(Format):
			mustSay(t, err, try)
		case ok || err != nil:
			t.Errorf("format %d behind our own entries: %v, %v; it is garbage", format, ok, err)
		}
	}
}

func mustSay(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
}

// One bit that fell over in a snapshot is noticed, wherever a record holds it.
func TestADamagedSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	v, _ := played(t, richStory(t))
	data := v.Snapshot()
	head := len(snapshotHead(v))
	for i := head; i < len(data); i++ {
		data[i] ^= 1
		if got, err := DecodeSnapshot(data); err == nil {
			t.Fatalf("byte %d of %d was changed, and it was read as\n%s", i, len(data), got)
		}
		data[i] ^= 1
	}
}

// snapshotHead is index, chain and count of entries: the log vouches for them, not the digest.
func snapshotHead(v Value) []byte {
	b := appendUvarint([]byte{snapshotMagic, byte(Format)}, uint64(v.index))
	return appendUvarint(appendUvarint(appendUvarint(b, uint64(v.chain)), uint64(v.digest)), v.applied)
}

// windowValue has a partitioner with a window, and a pool with shares.
func windowValue(t *testing.T) Value {
	t.Helper()
	s := &script{t: t}
	pool := TaskSpec{Name: "pool", Type: "x", Spread: SpreadPool, Repartition: true}
	listed := TaskSpec{Name: "listed", Type: "x", Spread: SpreadPartitioned, Partitions: []string{"list"}}
	s.ok(PrepareJoin{Member: "a", Slots: 2, Heartbeat: "p"},
		SubmitJob{Job: "j", Spec: JobSpec{Tasks: []TaskSpec{pool, listed}}})
	p, _ := s.v.Partition("j/listed#list")
	s.ok(AdvanceWindow{Partition: p.ID, Token: p.Token, Cursor: []byte("c"),
		Items: []Item{{"i1", []byte("input")}, {"i2", nil}}})
	p, _ = s.v.Partition("j/listed#i1")
	s.ok(FinishPartition{Partition: p.ID, Token: p.Token})
	return s.v
}

// Windows and shares in a snapshot mean what they meant and are written as they were.
func TestGoldenWindowBytes(t *testing.T) {
	t.Parallel()
	_, data, text := goldenLine(t, goldenFile(t, "windows.golden"))
	v, err := DecodeSnapshot(data)
	if err != nil || fmt.Sprintf("%q", v.String()) != text {
		t.Fatalf("a snapshot was %s\nand is read as %q, %v", text, v.String(), err)
	}
	if again := v.Snapshot(); !bytes.Equal(again, data) {
		t.Fatalf("a snapshot was %x, and is written as %x", data, again)
	}
	if now := windowValue(t); now.String() != v.String() {
		t.Errorf("the same commands give\n%s\nand gave\n%s", now, v)
	}
}

// workflowOf reads a job of tasks of spread pool where lines follow the directive, one per task, else what jobOf reads:
//
//	submit etl scheduler=greedy coverage percent=50
//	read min=1 max=2 -> map
//	map percent=20 -> write
//	write
func workflowOf(d *datadriven.TestData, a arguments) JobSpec {
	if d.Cmd == "entry" || strings.TrimSpace(d.Input) == "" {
		return jobOf(a)
	}
	var spec JobSpec
	spec.Batch, spec.Coverage, spec.Percent = a.text("edges") == "batch", a.has("coverage"), a.number("percent", 0)
	if s := a.text("scheduler"); s != "" {
		orPanic(spec.Scheduler.UnmarshalText([]byte(s)))
	}
	for line := range strings.Lines(d.Input) {
		left, right, _ := strings.Cut(line, "->")
		_, args, err := datadriven.ParseLine("task " + left)
		orPanic(err)
		b := arguments{list: args}
		t := taskOf(b)
		t.Name, t.Spread, t.Min, t.Max, t.Percent = b.name(0), SpreadPool, b.number("min", 0), b.number("max", 0),
			b.number("percent", 0)
		t.Repartition = b.text("repartition") != ""
		if s := b.text("spread"); s != "" {
			orPanic(t.Spread.UnmarshalText([]byte(s)))
		}
		spec.Tasks = append(spec.Tasks, t)
		for _, to := range strings.Fields(right) {
			spec.Edges = append(spec.Edges, Edge{t.Name, to})
		}
	}
	return spec
}

// slotLines has a line per job with tasks of spread pool.
func slotLines(v Value) (out []string) {
	for j := range v.Jobs() {
		var tasks []string
		for _, t := range v.JobSlots(j.ID) {
			s := fmt.Sprintf("%s%v", t.Task, t.Slots)
			if t.Finished {
				s = t.Task + " finished"
			}
			if len(t.Leaving) > 0 {
				s += fmt.Sprintf(" leaving %v", t.Leaving)
			}
			tasks = append(tasks, s)
		}
		if len(tasks) > 0 {
			out = append(out, fmt.Sprintf("%s: %s", j.ID, strings.Join(tasks, ", ")))
		}
	}
	return out
}

// The digest is a sum: records in another order have the same one. A snapshot has one encoding all the same.
func TestASnapshotOutOfOrder(t *testing.T) {
	t.Parallel()
	v, _ := played(t, richStory(t))
	data := v.Snapshot()
	var members [][]byte
	ordered.Each(&v.members, func(_ MemberID, m memberRecord) bool {
		var x coder
		codeMember(&x, &m.Member)
		members = append(members, x.data)
		return true
	})
	if len(members) < 2 {
		t.Fatalf("the story has %d members", len(members))
	}
	sorted := bytes.Join(members, nil)
	at := bytes.Index(data, sorted)
	if at < 0 {
		t.Fatal("the members are not in the snapshot")
	}
	for name, changed := range map[string][][]byte{"not sorted": {members[1], members[0]}, "doubled": {members[0], members[0]}} {
		wrong := bytes.Join(append(changed, members[2:]...), nil)
		if _, err := DecodeSnapshot(slices.Concat(data[:at], wrong, data[at+len(sorted):])); err == nil ||
			!strings.Contains(err.Error(), "not sorted") {
			t.Errorf("members that are %s: %v", name, err)
		}
	}
	must.Succeed(t, must.Err(DecodeSnapshot(data)))
}
