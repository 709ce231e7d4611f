//go:build unix

package pages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/proof/server/postgres"
)

// The page expects the server's programs in the PATH, and a user who is not root. In place of each program stands a
// script that starts it, as the user of the package where the test is root; the folder of the server is that user's
// then.
func readerOfPostgres(t *testing.T) reader {
	scripts := t.TempDir()
	as := ""
	if os.Geteuid() == 0 {
		as = "setpriv --reuid=postgres --regid=postgres --clear-groups "
	}
	for _, name := range []string{"initdb", "postgres"} {
		program, err := postgres.Program(name)
		if _, ok := errors.AsType[*postgres.MissingError](err); ok {
			t.Skipf("NOT TESTED: the page of PostgreSQL cannot be tried here: %v", err)
		}
		must.Succeed(t, err)
		script := fmt.Sprintf("#!/bin/sh\nexec %s'%s' \"$@\"\n", as, program)
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(script), 0o755); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
	}
	return reader{
		instead: []string{"5432", freePort(t), "initdb -D", scripts + "/initdb -D", "postgres -D",
			scripts + "/postgres -D", "postgres --single", scripts + "/postgres --single"},
		prepare: func(t *testing.T, dir string) {
			// The folders of a test are closed to other users.
			if err := errors.Join(postgres.Give(dir), os.Chmod(filepath.Dir(dir), 0o711),
				os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o711)); err != nil { //nolint:gosec // to go through
				t.Fatal(err)
			}
		},
	}
}
