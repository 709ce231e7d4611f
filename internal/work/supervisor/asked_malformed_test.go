package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/internal/proof/virtual"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/store"
)

// TestMalformedRequests: a document that no owner can read is removed and named in the journal, once, and the requests beside it are served.
func TestMalformedRequests(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		o := newOwners(t, `{"cron":"0 * * * *"}`)
		o.docs.hints = make(chan struct{}, 1)
		o.begin()
		time.Sleep(10 * time.Minute)
		for key, text := range map[string]string{"run-now/a": "{", "run-now/b": `{"partition":"invoices"}`} {
			must.Succeed(t, must.Err(o.docs.Put(t.Context(), store.Doc{Key: key, Value: []byte(text)})))
		}
		a := o.ask()
		time.Sleep(10 * time.Minute)
		if !o.answered(a) {
			t.Error("the request beside them is not served")
		}
		left, err := o.docs.List(t.Context(), "run-now/")
		if len(left) != 0 || err != nil {
			t.Errorf("left %v, %v", left, err)
		}
		var refused []string
		o.bed.locked(func() {
			for _, r := range o.bed.records {
				if r.Kind == journal.Refused {
					refused = append(refused, r.Message)
				}
			}
		})
		said := strings.Join(refused, "\n")
		for _, want := range []string{`"run-now/a"`, `"run-now/b"`, "unexpected end of JSON input", `partition "invoices" has the key "run-now/`, "try: rota task trigger TASK"} {
			if !strings.Contains(said, want) {
				t.Errorf("the journal does not say %s:\n%s", want, said)
			}
		}
		if len(refused) != 2 {
			t.Errorf("%d records, want 2:\n%s", len(refused), said)
		}
		o.leave(time.Minute)
	})
}
