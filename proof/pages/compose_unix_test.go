//go:build unix

package pages

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/rota-run/rota/internal/proof/must"
)

// compose is as much of the format of Compose as the file uses. What it does not name is a fault of the file, or is to
// be added here.
type compose struct {
	Services map[string]service `yaml:"services"`
	Configs  map[string]struct {
		Content string `yaml:"content"`
	} `yaml:"configs"`
	Volumes map[string]struct{} `yaml:"volumes"`
}

type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Configs     []struct {
		Source string `yaml:"source"`
		Target string `yaml:"target"`
	} `yaml:"configs"`
}

func readCompose(t *testing.T) compose {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(root, "compose.yaml")))(t)
	var c compose
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		t.Fatal(yaml.FormatError(err, false, true))
	}
	return c
}

// Containers cannot be started by this test; what they are told can be looked at.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for name, port := range map[string]string{
		"elasticsearch": "9200:9200", "etcd": "2379:2379", "kafka": "9092:9092", "nats": "4222:4222",
		"opensearch": "9201:9200", "postgres": "5432:5432", "zookeeper": "2181:2181",
	} {
		s, ok := c.Services[name]
		if !ok || !strings.Contains(s.Image, name) {
			t.Errorf("%s: there is no such service, or its image is another: %+v", name, s)
		}
		if len(s.Ports) != 1 || s.Ports[0] != "127.0.0.1:"+port {
			t.Errorf("%s: ports %q: on this machine alone, and the one that the page names", name, s.Ports)
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s: there is no volume %q", name, volume)
			}
		}
		for _, f := range s.Configs {
			if c.Configs[f.Source].Content == "" || !strings.Contains(strings.Join(s.Command, " "), f.Target) {
				t.Errorf("%s: the file %s is empty, or nobody reads %s", name, f.Source, f.Target)
			}
		}
		delete(c.Services, name)
	}
	if len(c.Services) > 0 {
		t.Errorf("services that nobody looks at: %v", c.Services)
	}
}

// The servers themselves take the flags and the file that their containers would give them, and are fit then.
func TestServersTakeWhatComposeSays(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for name, comes := range map[string]func(*testing.T) reader{"etcd": readerOfEtcd, "nats": readerOfNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := comes(t)
			g := guide(t, name, r.instead...)
			byEnvironment := slices.DeleteFunc(r.env,
				func(v string) bool { return strings.Contains(v, "_CLIENT_URLS=") }) // the file says those
			u := newUser(t, programs.build(t, g.Programs), byEnvironment...)
			dir := filepath.Join(u.dir, "server")
			instead := append(r.instead, "/data", dir, "0.0.0.0", "127.0.0.1") // all at once: the name of a folder may contain the number of a port
			for _, f := range c.Services[name].Configs {
				instead = append(instead, f.Target, filepath.Join(dir, f.Source))
				content := strings.ReplaceAll(c.Configs[f.Source].Content, "/data", dir)
				must.Succeed(t, os.WriteFile(filepath.Join(dir, f.Source), []byte(content), 0o600))
			}
			line := strings.NewReplacer(instead...).Replace(strings.Join(c.Services[name].Command, " "))
			if name == "nats" { // the image's own command, and the port that is none of the file's
				line = "nats-server " + line + " -a 127.0.0.1 -p " + r.instead[1]
			}
			g.Server = line + "\n"
			must.Succeed(t, (&play{user: u, Guide: g}).serve(t.Context()))
		})
	}
}
