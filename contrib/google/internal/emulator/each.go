package emulator

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/pstest"
)

// Servers start when they are asked for, and are then host:port.
type Servers struct {
	Datastore func() string
	PubSub    func() string
}

// Env are the settings by which Google's clients find them.
func (s Servers) Env() []string {
	return []string{"DATASTORE_EMULATOR_HOST=" + s.Datastore(), "PUBSUB_EMULATOR_HOST=" + s.PubSub()}
}

// Each runs a test with the fakes, and with the real emulators where they are installed.
func Each(t *testing.T, test func(t *testing.T, s Servers)) {
	t.Helper()
	t.Run("fakes", func(t *testing.T) {
		test(t, Servers{
			Datastore: sync.OnceValue(func() string { t.Log("Datastore: a fake in this process"); return startFake(t) }),
			PubSub: sync.OnceValue(func() string {
				t.Log("Pub/Sub: pstest")
				s := pstest.NewServer()
				t.Cleanup(func() { _ = s.Close() })
				return s.Addr
			}),
		})
	})
	for kind, start := range map[string]func(*testing.T, string) string{"datastore": startDatastore,
		"firestore": startFirestore} {
		t.Run(kind, func(t *testing.T) {
			platform := find(t)
			test(t, Servers{
				Datastore: sync.OnceValue(func() string {
					t.Logf("Datastore: the emulator %s of %s", kind, platform)
					return start(t, platform)
				}),
				PubSub: sync.OnceValue(func() string {
					t.Logf("Pub/Sub: the emulator of %s", platform)
					return startPubSub(t, platform)
				}),
			})
		})
	}
}

// Project is a project of its own for a test: one server can have many.
func Project() string { return fmt.Sprintf("test-%d", time.Now().UnixNano()) }

// find is the folder of the emulators, or skips the test.
func find(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, sdk := range []string{
		os.Getenv("ROTA_TEST_GOOGLE_SDK"), os.Getenv("CLOUDSDK_ROOT_DIR"), "/usr/lib/google-cloud-sdk",
		"/usr/share/google-cloud-sdk", "/snap/google-cloud-cli/current",
		"/opt/google-cloud-sdk", "/opt/homebrew/share/google-cloud-sdk", filepath.Join(home, "google-cloud-sdk"),
	} {
		platform := filepath.Join(sdk, "platform")
		if _, err := os.Stat(filepath.Join(platform, datastoreJar)); sdk != "" && err == nil {
			return platform
		}
	}
	t.Skip("no real emulators: NOT RUN, the fakes alone ran. Install the Google Cloud CLI with its emulators, or set ROTA_TEST_GOOGLE_SDK to its folder")
	return ""
}

// free is an address that nobody listens at now.
func free(t *testing.T) (host, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}
