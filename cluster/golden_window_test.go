package cluster

import (
	"bytes"
	"fmt"
	"testing"
)

// windowValue has a partitioner with a window, and a pool with shares.
func windowValue(t *testing.T) Value {
	t.Helper()
	s := &script{t: t}
	pool := TaskSpec{Name: "pool", Type: "x", Spread: SpreadPool, Repartition: true}
	listed := TaskSpec{Name: "listed", Type: "x", Spread: SpreadPartitioned, Partitions: []string{"list"}}
	s.ok(PrepareJoin{Member: "a", Slots: 2, Heartbeat: "p"}, SubmitJob{Job: "j", Spec: JobSpec{Tasks: []TaskSpec{pool, listed}}})
	p, _ := s.v.Partition("j/listed#list")
	s.ok(AdvanceWindow{Partition: p.ID, Token: p.Token, Cursor: []byte("c"), Items: []Item{{"i1", []byte("input")}, {"i2", nil}}})
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
