package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/rotacmd/internal/command/storecheck"
)

func TestStoreCheck(t *testing.T) {
	p := newPlace(t)
	out, errs, code := p.rota("store", "check", "file:store")
	if code != exitOK || !strings.Contains(out, "ok  append") || !strings.Contains(out, "ok  session") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	out, errs, code = p.rota("store", "check", "-o", "json", "--store", "file:store")
	var r storecheck.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || !r.OK {
		t.Errorf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	left, err := os.ReadDir(p.dir)
	must.Succeed(t, err)
	for _, f := range left {
		if strings.Contains(f.Name(), "store") {
			t.Errorf("%s is left behind", f.Name())
		}
	}
}

func TestStoreCheckRefuses(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"check"}, "no store", exitUsage},
		{[]string{"check", "memory:"}, "inside one process", exitUsage},
		{[]string{"check", "file:a", "file:b"}, "takes one store", exitUsage},
		{[]string{"check", "file:no/such/place"}, "mkdir -p no/such", exitFailed},
		{[]string{"chek"}, `unknown command "store chek"`, exitUsage},
	} {
		if _, errs, code := p.rota(append([]string{"store"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d\n%s", c.args, code, errs)
		}
	}
}
