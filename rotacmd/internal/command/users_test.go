package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestRunTakesUsers: a member reads its users from a flag or the environment, refuses a file that others may read, and
// shows no hash.
func TestRunTakesUsers(t *testing.T) {
	newPlace(t)
	hash := strings.Repeat("5e", 32)
	path := filepath.Join(t.TempDir(), "users")
	for _, x := range []struct {
		text, want string
		mode       os.FileMode
	}{
		// the file is good, and the address is the next to be refused
		{"ann operate sha256:" + hash, "needs TLS and a token", 0o600},
		{"ann operate sha256:" + hash, "mode 0644", 0o644},
		{"ann admin sha256:" + hash, "line 1: the second word is neither read nor operate", 0o600},
	} {
		must.Succeed(t, os.WriteFile(path, []byte(x.text), 0o600))
		must.Succeed(t, os.Chmod(path, x.mode))
		for _, env := range []bool{false, true} {
			args, vars := []string{"run", "--store", "memory:", "--listen", "0.0.0.0:0"}, map[string]string{}
			if vars["ROTA_API_TOKENS"] = path; !env {
				args, vars = append(args, "--api-tokens", path), nil
			}
			out, errs, code := with(vars, "", args...)
			all := fmt.Sprint(out, errs)
			if code != exitUsage || !strings.Contains(all, x.want) || !strings.Contains(all, "try: ") ||
				strings.Contains(all, hash) {
				t.Errorf("%q %o: exit %d, want %q:\n%s", x.text, x.mode, code, x.want, all)
			}
		}
	}
}
