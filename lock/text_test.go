package lock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/lock"
	"github.com/rota-run/rota/store/memory"
)

// args are arguments of a function.
type args struct {
	Lock lock.Lock
	Semi lock.Semaphore
}

// TestText: locks go through JSON as their names, and are bound again on the other side.
func TestText(t *testing.T) {
	t.Parallel()
	server := memory.New()
	here, there := client(t, server.Open(), lock.Options{}), client(t, server.Open(), lock.Options{})
	data, err := json.Marshal(args{here.Lock("a/b"), here.Semaphore("c", 3)})
	if err != nil || string(data) != `{"Lock":"a/b","Semi":"c*3"}` {
		t.Fatalf("%s, %v", data, err)
	}
	var a args
	must.Succeed(t, json.Unmarshal(data, &a))
	if _, err := a.Lock.Acquire(deadline(t)); err == nil || !strings.Contains(err.Error(), "use On") {
		t.Errorf("acquire what is bound to nothing: %v", err)
	}
	if _, err := here.Lock("a/b").Acquire(deadline(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Lock.On(there).TryAcquire(deadline(t)); err == nil {
		t.Error("it is another lock")
	}
	if h, err := a.Semi.On(there).TryAcquire(deadline(t)); err != nil || h.Token() != 1 {
		t.Errorf("%v, %v", h, err)
	}
	for _, bad := range []string{`{"Semi":"c"}`, `{"Semi":"c*0"}`, `{"Semi":"c*1001"}`, `{"Semi":"*3"}`, `{"Lock":""}`, `{"Lock":"a b"}`} {
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// TestForeignDocument: what this package did not write is refused and stays.
func TestForeignDocument(t *testing.T) {
	t.Parallel()
	s := memory.New().Open()
	foreign := []byte("not ours")
	v, err := s.Put(deadline(t), doc("locks/x/table", foreign))
	must.Succeed(t, err)
	if _, err := client(t, s, lock.Options{}).Lock("x").Acquire(deadline(t)); err == nil || !strings.Contains(err.Error(), "locks/x/table") {
		t.Errorf("acquire: %v", err)
	}
	if d, err := s.Get(deadline(t), "locks/x/table"); err != nil || d.Version != v {
		t.Errorf("%+v, %v", d, err)
	}
}
