package simulate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rota-run/rota/internal/proof/must"
)

// The scripts in testdata: what a person sees. Run with -rewrite to write the outcomes again.
func TestPlays(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/plays", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			err := play(d.Input, func(r *Report) error {
				if d.Cmd == "json" {
					enc := json.NewEncoder(&out)
					enc.SetEscapeHTML(false)
					return enc.Encode(r)
				}
				return r.Print(&out, d.Cmd == "all")
			})
			if err != nil {
				out.WriteString("fault: " + err.Error() + "\n")
				var fault *ScriptError
				if errors.As(err, &fault) && fault.Try != "" {
					out.WriteString("try: " + fault.Try + "\n")
				}
			}
			return out.String()
		})
	})
}

func play(text string, show func(*Report) error) error {
	script, err := Parse(text)
	if err != nil {
		return err
	}
	w := New(script.Golden)
	for _, l := range script.Lines {
		r, err := w.Play(l)
		if err != nil {
			return err
		}
		if err := show(&r); err != nil {
			return err
		}
	}
	return nil
}

// TestMarkedScripts: a byte order mark and ends of lines of Windows are no part of a command.
func TestMarkedScripts(t *testing.T) {
	t.Parallel()
	said := ""
	must.Succeed(t, play("\ufeffjoin a\r\ncrash a\r\n", func(r *Report) error {
		said += r.Command + ": " + r.Result + "\n"
		return nil
	}))
	if said != "join a: accepted\ncrash a: accepted\n" {
		t.Errorf("it says %q", said)
	}
}

// The golden scripts of package cluster are in the same language: played here, the same is written, under the same
// index, with the same outcome.
func TestPlaysGoldenScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../../cluster/testdata/*/*.txt")
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d scripts: %v", len(paths), err)
	}
	entry := regexp.MustCompile(`^(\S+ )?[0-9]+: `)
	for _, path := range paths {
		if strings.Contains(path, "/epochs/") || strings.Contains(path, "/offers/") { // of sync and leader, which it does not play
			continue
		}
		data, err := os.ReadFile(path)
		must.Succeed(t, err)
		var want, got []string
		for line := range strings.Lines(string(data)) {
			if entry.MatchString(line) {
				want = append(want, strings.TrimSpace(line))
			}
		}
		err = play(string(data)+"\n# a paragraph without an outcome\n", func(r *Report) error {
			for _, line := range r.log() {
				line, _, _ = strings.Cut(line, "\n") // of several faults the script shows one to a line
				got = append(got, line)
			}
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", path, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Any text is a script or has a fault with a line; what can be played comes to rest.
func FuzzScript(f *testing.F) {
	paths, _ := filepath.Glob("testdata/plays/*")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		must.Succeed(f, err)
		f.Add(string(data))
	}
	f.Add("join a slots=2\nsubmit x\n  a -> b\n  b\nfinish x/a\ncrash a\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "submit-many") {
			return // it may be asked for 100,000 jobs: slow, and nothing new
		}
		rounds := 0
		err := play(text, func(r *Report) error {
			if rounds++; r.Result == "" || rounds > 200 {
				return errors.New("enough")
			}
			return r.Print(&strings.Builder{}, false)
		})
		var fault *ScriptError
		if err != nil && err.Error() != "enough" && (!errors.As(err, &fault) || fault.Line < 1) {
			t.Fatalf("a fault without a line: %v", err)
		}
	})
}
