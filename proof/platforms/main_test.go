package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestPlatforms: what only one platform compiles, a test among it, is looked at for that platform.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	const sound = "package some\n\nfunc f() int { return 1 }\n"
	for _, c := range []struct {
		name, file, text, platform string
		code                       int
		says                       string
	}{
		{"all is well", "f.go", sound, "windows/amd64", 0, `{"platforms":1,"packages":1}`},
		{"a type", "f_windows.go", "package some\n\nvar x string = f()\n", "windows/amd64", 1,
			"f_windows.go:3:16: cannot use f()"},
		{"of another platform", "f_windows.go", "package some\n\nvar x string = f()\n", "darwin/arm64", 0,
			`"packages":1`},
		{"in a function", "f_arm64.go", "package some\n\nfunc g() { f(2) }\n", "darwin/arm64", 1,
			"f_arm64.go:3:14: too many arguments"},
		{"a test", "f_darwin_test.go",
			"package some\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { t.Skipper() }\n", "darwin/arm64", 1,
			"t.Skipper undefined"},
		{"syntax", "f_windows.go", "package some\n\nfunc {\n", "windows/amd64", 1, "f_windows.go:3:6"},
		{"no such package", "f_windows.go", "package some\n\nimport _ \"example.com/none\"\n", "windows/amd64", 1,
			"example.com/none"},
		{"no platform", "f.go", sound, "windows", 1, "try: windows/amd64"},
		{"no such platform", "f.go", sound, "minix/amd64", 1, "minix"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module some\n\ngo 1.26\n", "f.go": sound,
				c.file: c.text} { // order-free: each is another file
				must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			var stdout, stderr strings.Builder
			if code := run(t.Context(), dir, []string{c.platform}, &stdout, &stderr); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if said := stdout.String() + stderr.String(); !strings.Contains(said, c.says) {
				t.Errorf("want %q in:\n%s", c.says, said)
			}
		})
	}
	var usage strings.Builder
	if code := run(t.Context(), ".", nil, &usage, &usage); code != 2 ||
		!strings.Contains(usage.String(), "try: platforms ") {
		t.Errorf("exit code %d: %s", code, usage.String())
	}
}
