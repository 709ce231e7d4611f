package log

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/store/driver/drivermap"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
	"github.com/rota-run/rota/store/engine"
)

// TestDamage: whatever is done to the rows of a log, it is noticed.
func TestDamage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const page = "p/00000000000000000016"
	for _, key := range []string{"head", page, "snap", "s/", "b/", "with head", "with b/", "with " + page} {
		for _, how := range []string{"cut", "flip", "gone", "another's"} {
			if how == "another's" && key != "with "+page {
				continue // no other row is one of its kind
			}
			t.Run(key+" "+how, func(t *testing.T) {
				t.Parallel()
				h := drivermap.New().Open()
				l := Open(engine.NewRows(lone{h}, "a"), Main)
				key, isWith := strings.CutPrefix(key, "with ")
				if isWith {
					l = Open(engine.NewRows(h, "a"), Main)
				}
				for range 19 {
					must.Succeed(t, must.Err(l.Append(ctx, []byte("xyz"))))
				}
				must.Succeed(t, must.Err(l.Append(ctx, make([]byte, l.inline+1))))
				must.Succeed(t, l.SaveSnapshot(ctx, store.Record{Index: 20, Data: []byte("snapshot")}))
				rows, err := h.Read(ctx, driver.Query{From: l.key(key), To: l.key(key) + "~", Limit: 1})
				if err != nil || len(rows.Range) == 0 {
					t.Fatalf("there is no such row: %v", err)
				}
				row := rows.Range[0]
				op := driver.Op{Key: row.Key, If: row.Version, Value: row.Value}
				switch how {
				case "cut":
					op.Value = op.Value[:len(op.Value)-1]
				case "flip":
					op.Value[len(op.Value)/2] ^= 0x80
				case "another's":
					before := driver.Query{Keys: []string{l.pageKey(15)}}
					op.Value = must.Get(h.Read(ctx, before))(t).Keys[0].Value
				case "gone":
					op.Delete = true
				}
				must.Succeed(t, must.Err(h.Swap(ctx, op)))
				_, read := l.Read(ctx, 0, 15) // a page may end before what is missing
				if read == nil {
					_, read = l.Read(ctx, 15, 100)
				}
				_, snapshot := l.Snapshot(ctx)
				if !errors.Is(read, ErrDamaged) && !errors.Is(snapshot, ErrDamaged) &&
					!errors.Is(snapshot, store.ErrNotFound) {
					t.Errorf("read: %v, snapshot: %v", read, snapshot)
				}
				if key == "head" && how == "gone" {
					if index, err := l.Append(ctx, []byte("next")); !errors.Is(err, ErrDamaged) {
						t.Errorf("a log without its head began again at %d, %v", index, err)
					}
				}
			})
		}
	}
}

// TestPointerOfAnother: a pointer to a snapshot that nobody has written is damage, and no memory is taken for it.
func TestPointerOfAnother(t *testing.T) {
	t.Parallel()
	h := drivermap.New().Open()
	l := Open(engine.NewRows(h, "a"), Main)
	op := driver.Op{Key: l.PointerKey()}
	for _, text := range []string{"", "{}", `{"index":1,"parts":-1}`, `{"index":1,"bytes":-1}`,
		`{"index":1,"parts":1,"bytes":1099511627776}`} {
		op.Value = []byte(text)
		op.If = must.Get(h.Swap(t.Context(), op))(t)
		if _, err := l.Snapshot(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("a pointer of %q: %v", text, err)
		}
	}
}

// mute is a driver that answers no write of a blob.
type mute struct{ engine.Driver }

func (d mute) Swap(ctx context.Context, op driver.Op, with ...driver.Op) (driver.Version, error) {
	if v, err := d.Driver.Swap(ctx, op, with...); !strings.Contains(op.Key, "/b/") {
		return v, err
	}
	return "", store.ErrUnknown
}

// TestNoAnswerToABlob: a record whose blob may be there was not appended, and that is known.
func TestNoAnswerToABlob(t *testing.T) {
	t.Parallel()
	l := Open(engine.NewRows(mute{lone{drivermap.New().Open()}}, "a"), Main)
	_, err := l.Append(t.Context(), make([]byte, l.inline+1))
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("append: %v", err)
	}
	if page, err := l.Read(t.Context(), 0, 9); err != nil || page.Head != 0 {
		t.Errorf("the log ends at %d, %v", page.Head, err)
	}
	row := driver.Op{Key: "q/b/1", Name: "a.1", Value: []byte("x"), Once: true}
	if _, err = l.AppendWith(t.Context(), []byte("names it"), false, []driver.Op{row}); err == nil {
		t.Error("a row without an answer is there")
	}
	if page, err := l.Read(t.Context(), 0, 9); err != nil || page.Head != 0 {
		t.Errorf("there is a record that names what may not be there: %d, %v", page.Head, err)
	}
}

// TestReach: an append that others overtook writes its blobs again when its last record would be beyond their reach.
func TestReach(t *testing.T) {
	t.Parallel()
	l := Open(engine.NewRows(lone{drivermap.New().Open()}, "a"), Main)
	l.reach = 3
	large := make([]byte, l.inline+1)
	b := batch{records: [][]byte{large, large}}
	var refs []string
	for index := range 3 {
		must.Succeed(t, l.lay(t.Context(), &b, uint64(index+1))) //nolint:gosec // small
		refs = append(refs, b.entries[0].ref)
	}
	if refs[0] != refs[1] || refs[1] == refs[2] {
		t.Errorf("the first blob is %q", refs)
	}
}

// TestLostBlob: a blob that is missing was trimmed, up to the last index that was, or the log is damaged.
func TestLostBlob(t *testing.T) {
	t.Parallel()
	l := Open(engine.NewRows(drivermap.New().Open(), "a"), Main)
	head := driver.Row{Version: "1", Value: state{size: 1}.begun(5, "seed").encode()}
	for index, want := range map[uint64]error{5: store.ErrTruncated, 6: ErrDamaged} { // order-free: each is judged alone
		if err := l.lost(head, found{index: index}); !errors.Is(err, want) {
			t.Errorf("record %d: %v, want %v", index, err, want)
		}
	}
}

// TestWhatCannotBe: a head or a page whose sum is right and that no version of this program writes is damaged; one of
// another format is not.
func TestWhatCannotBe(t *testing.T) {
	t.Parallel()
	sealed := func(b ...byte) []byte { return binary.BigEndian.AppendUint32(b, sumOf(b)) }
	good := state{size: 2, base: 1, freed: 1, cut: 2}
	if _, err := decodeState(good.encode()); err != nil {
		t.Fatal(err)
	}
	body := good.encode()[:len(good.encode())-4]
	newer := append([]byte{format + 1}, body[1:]...)
	for what, head := range map[string][]byte{
		"longer": sealed(append(body, 0)...), "no size": state{base: 1, cut: 2}.encode(),
		"freed": state{size: 2, base: 1, freed: 2, cut: 2}.encode(), "trimmed": state{size: 2, base: 3, cut: 2}.encode(),
	} {
		if s, err := decodeState(head); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	for _, head := range [][]byte{sealed(), sealed(newer...)} {
		if s, err := decodeState(head); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("of another format: %+v, %v", s, err)
		}
	}
	for _, p := range [][]byte{sealed(append(page{after: 2}.encode(nil), 0)...), sealed(0, 1, 0, 0, 3)} {
		if p, err := decodePage(p); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// FuzzDecode: bytes of others are refused, and never panic.
func FuzzDecode(f *testing.F) {
	f.Add(state{size: 16, base: 3, cut: 16, tail: []entry{{"a.1", "", []byte("x")}}}.encode())
	f.Add(state{size: 2}.begun(7, "b.1").encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, sealed := range [][]byte{b, binary.BigEndian.AppendUint32(b, sumOf(b))} {
			if s, err := decodeState(sealed); err == nil && (s.size == 0 || s.base > s.end()) {
				t.Errorf("%q is taken as %+v", sealed, s)
			}
			_, _ = decodePage(sealed)
		}
	})
}
