package emulator

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	datastoreJar = "cloud-datastore-emulator/CloudDatastore.jar"
	firestoreJar = "cloud-firestore-emulator/cloud-firestore-emulator.jar"
	pubsubJars   = "pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"
	// startWithin bounds the start of a server, also on a busy machine.
	startWithin = 2 * time.Minute
)

func startDatastore(t *testing.T, platform string) string {
	host, port := free(t)
	return run(t, host, port, "-Xmx256m", "-cp", filepath.Join(platform, datastoreJar),
		"com.google.cloud.datastore.emulator.CloudDatastore",
		"start", "--host="+host, "--port="+port, "--testing")
}

func startFirestore(t *testing.T, platform string) string {
	host, port := free(t)
	return run(t, host, port, "-Xmx256m", "-Duser.language=en", "-cp", filepath.Join(platform, firestoreJar),
		"com.google.cloud.datastore.emulator.firestore.CloudFirestore", "--host="+host, "--port="+port,
		"--database-mode=datastore-mode")
}

func startPubSub(t *testing.T, platform string) string {
	jars, err := filepath.Glob(filepath.Join(platform, pubsubJars))
	if err != nil || len(jars) == 0 {
		t.Fatalf("no emulator of Pub/Sub in %s", platform)
	}
	host, port := free(t)
	_, second := free(t)
	return run(t, host, port, "-Xmx256m", "-jar", jars[0], "--host="+host, "--port="+port, "--iam_port="+second)
}

// run starts a server and waits until it listens.
func run(t *testing.T, host, port string, args ...string) string {
	t.Helper()
	cmd := exec.Command("java", args...)
	cmd.Dir = t.TempDir()
	log, err := os.Create(filepath.Join(cmd.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start an emulator: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	limit := time.After(startWithin)
	for {
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err == nil {
			c.Close()
			return net.JoinHostPort(host, port)
		}
		select {
		case <-ended:
		case <-limit:
		case <-time.After(50 * time.Millisecond):
			continue
		}
		said, _ := os.ReadFile(log.Name())
		t.Fatalf("the emulator does not listen: %v\n%s", err, said)
	}
}
