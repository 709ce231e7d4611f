package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/cluster"
	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/protocol/fold"
	"github.com/rota-run/rota/protocol"
	"github.com/rota-run/rota/rotacmd/internal/command/storerepair"
	"github.com/rota-run/rota/store"
)

// poisoned is a store whose log has something of the kind.
func poisoned(t *testing.T, kind string) {
	t.Helper()
	st, err := openStore(t.Context(), env{}, "file:store", member)
	must.Succeed(t, err)
	defer st.Close()
	var v cluster.Value
	put := func(wrong cluster.Hash, commands ...cluster.Command) {
		e := cluster.Entry{Writer: "w", Seq: uint64(v.Index()) + 1, BaseIndex: v.Index(), BaseChain: v.Chain() + wrong, Commands: commands}
		index, err := st.Append(t.Context(), e.Encode())
		must.Succeed(t, err)
		if wrong == 0 {
			e.Index = cluster.Index(index)
			v, _ = v.Apply(e)
		}
	}
	put(0, cluster.Configure{Retention: 5})
	switch kind {
	case "format":
		must.Succeed(t, must.Err(st.Append(t.Context(), []byte{0xE7, 99})))
	case "chain":
		put(1, cluster.Configure{Retention: 77})
	case "snapshot":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 99, 1}}))
	case "trimmed":
		must.Succeed(t, st.SaveSnapshot(t.Context(), store.Record{Index: uint64(v.Index()), Data: []byte{0xA7, 1}}))
		must.Succeed(t, st.Trim(t.Context(), uint64(v.Index())))
	}
}

// readable tells whether a member could read the log, and what it would find.
func readable(t *testing.T) (int64, error) {
	t.Helper()
	st, err := openStore(t.Context(), env{}, "file:store", look)
	must.Succeed(t, err)
	defer st.Close()
	v, err := fold.Observe(t.Context(), st, cluster.Value{})
	return v.Settings().Retention, err
}

// TestStoreRepair is the way back from what ends every member.
func TestStoreRepair(t *testing.T) {
	for _, kind := range []string{"format", "snapshot"} {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t)
			poisoned(t, kind)
			if _, err := readable(t); err == nil && kind == "format" {
				t.Fatal("the log can be read before it is repaired")
			}
			_, errs, code := p.rota("store", "repair", "file:store")
			if code != exitOK || !strings.Contains(errs, "nothing was written") {
				t.Fatalf("dry run: exit %d\n%s", code, errs)
			}
			if kind == "format" && !strings.Contains(errs, "lost: entry 2") {
				t.Errorf("it does not say what is lost:\n%s", errs)
			}
			if _, err := os.Stat("rota-repair-3.json"); err == nil {
				t.Error("the dry run wrote a backup")
			}
			out, errs, code := p.rota("store", "repair", "file:store", "--yes", "-o", "json", "--backup", "backup.json")
			var r storerepair.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || !r.Repaired {
				t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
			}
			if kept, err := os.ReadFile("backup.json"); err != nil || !strings.Contains(string(kept), `"index":1`) {
				t.Errorf("backup: %v\n%s", err, kept)
			}
			if retention, err := readable(t); err != nil || retention != 5 {
				t.Errorf("after the repair: retention %d, %v", retention, err)
			}
			if _, errs, code := p.rota("store", "repair", "file:store", "--yes"); code != exitOK || !strings.Contains(errs, "nothing stops a member") {
				t.Errorf("again: exit %d\n%s", code, errs)
			}
		})
	}
}

// TestStoreRepairOfAForeignEntry: it ends nobody, and is told of.
func TestStoreRepairOfAForeignEntry(t *testing.T) {
	p := newPlace(t)
	poisoned(t, "chain")
	_, errs, code := p.rota("store", "repair", "file:store")
	if code != exitOK || !strings.Contains(errs, "entry 2 ") || !strings.Contains(errs, "another history") || !strings.Contains(errs, "nothing stops a member") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if retention, err := readable(t); err != nil || retention != 5 {
		t.Errorf("retention %d, %v: the entry did something", retention, err)
	}
}

// TestStoreRepairThatCannotBe: what is left is no value, and it says so.
func TestStoreRepairThatCannotBe(t *testing.T) {
	p := newPlace(t)
	poisoned(t, "trimmed")
	if _, errs, code := p.rota("store", "repair", "file:store", "--yes"); code != exitFailed || !strings.Contains(errs, "restore a backup") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestStoreRepairRefusesOtherLogs: a repair of a log that has no plain entries would lose all of it.
func TestStoreRepairRefusesOtherLogs(t *testing.T) {
	for name, refused := range map[string]bool{"replica": false, "leader": false, "sync": true, "lease": true, "of-a-newer-rota": true} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			poisoned(t, "format")
			st, err := openStore(t.Context(), env{}, "file:store", member)
			must.Succeed(t, err)
			defer st.Close()
			must.Succeed(t, protocol.Claim(t.Context(), st, protocol.Place{Protocol: name}))
			_, errs, code := p.rota("store", "repair", "file:store", "--yes")
			_, read := readable(t)
			if repaired := code == exitOK && read == nil; repaired == refused {
				t.Errorf("exit %d, then the log reads %v; it says %q", code, read, errs)
			}
			if said := strings.Contains(errs, "protocol "+name) && strings.Contains(errs, "try: "); said != refused {
				t.Errorf("it says %q", errs)
			}
		})
	}
}
