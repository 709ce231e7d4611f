package command

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// A store that cannot be used is named, with what to do about it, and is left as it was. Only where there is none is one to be made.
func TestAStoreThatCannotBeUsed(t *testing.T) {
	p := newPlace(t)
	must.Succeed(t, os.Mkdir(filepath.Join(p.dir, "foreign"), 0o700))
	garbage := strings.Repeat("not a store\n", 1000)
	p.write("foreign/rota.db", garbage)
	p.write("foreign/bell", "")
	must.Succeed(t, os.Mkdir(filepath.Join(p.dir, "alone"), 0o700))
	p.write("alone/rota.db", garbage)
	for _, c := range []struct{ store, want, never string }{
		{"foreign", "restore a copy of the directory", "try: rota run"},
		{"foreign/rota.db", "rota.db is a file: give a directory", "damaged"},
		{"alone", "copied without its other files", "try: rota run"},
		{"absent", "try: rota run --store file:absent", "damaged"},
	} {
		if _, errs, code := p.rota("status", "--store", "file:"+c.store); code != exitFailed || !strings.Contains(errs, c.want) || strings.Contains(errs, c.never) {
			t.Errorf("%s: exit %d\n%s", c.store, code, errs)
		}
	}
	if _, errs, code := p.rota("run", "--store", "file:foreign", "--listen", "none", "tasks"); code != exitFailed || !strings.Contains(errs, "restore a copy") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if now, err := os.ReadFile(filepath.Join(p.dir, "foreign/rota.db")); err != nil || string(now) != garbage {
		t.Errorf("the foreign file was changed (%v)", err)
	}
}

func TestAPortInUseIsNamed(t *testing.T) {
	p := newPlace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	defer l.Close()
	at := l.Addr().String()
	_, errs, code := p.rota("run", "--store", "file:store", "--listen", at, "tasks")
	if code != exitFailed || !strings.Contains(errs, "listen on "+at) || !strings.Contains(errs, "no --listen for a free port") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// A directory that others may enter is refused by every command, with three ways out.
func TestASharedDirectory(t *testing.T) {
	p := newPlace(t)
	must.Succeed(t, os.Mkdir("shared", 0o700))
	if err := os.Chmod("shared", 0o750); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	p.write("shared/rota.db", "")
	for _, args := range []string{"run --listen none tasks", "status", "member drain a", "store check"} {
		_, errs, code := p.rota(append(strings.Fields(args), "--store", "file:shared?shared=no")...)
		if code != exitUsage || !strings.Contains(errs, "--store 'file:shared?shared=yes'") {
			t.Errorf("%s, shared=no: exit %d\n%s", args, code, errs)
		}
		if args == "store check" {
			continue // makes a directory of its own
		}
		_, errs, code = p.rota(append(strings.Fields(args), "--store", "file:shared")...)
		for _, want := range []string{"mode is 0750", "chmod 700 shared", "file:shared/store", "'file:shared?shared=yes'", "replace the files"} {
			if code != exitFailed || !strings.Contains(errs, want) {
				t.Errorf("%s: exit %d, no %q\n%s", args, code, want, errs)
			}
		}
	}
	if _, errs, code := p.rota("status", "--store", "file:shared?shared=yes"); code != exitFailed || !strings.Contains(errs, "copied without its other files") {
		t.Errorf("allowed: exit %d\n%s", code, errs)
	}
}
