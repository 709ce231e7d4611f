package command

import (
	"net"
	"strings"
	"testing"
)

func TestErrorsSayWhatToTry(t *testing.T) {
	p := newPlace(t)
	p.write("tasks/a.yaml", "type: noop\n")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, c := range map[string]struct {
		args string
		code int
		want string
	}{
		"unknown flag":      {"run --stoer x", exitUsage, "unknown flag: --stoer"},
		"bad duration":      {"run --ttl soon", exitUsage, `invalid argument "soon"`},
		"unknown command":   {"statsu", exitUsage, `unknown command "statsu"`},
		"command and flag":  {"statsu --store file:x", exitUsage, "unknown command \"statsu\"\ntry: rota status"},
		"flag of nothing":   {"--stoer file:x", exitUsage, "unknown flag: --stoer"},
		"no store":          {"run tasks", exitUsage, "no store"},
		"no store to read":  {"status", exitUsage, "no store"},
		"unknown store":     {"run --store zookeper://zk1 tasks", exitUsage, "unknown kind"},
		"similar store":     {"run --store zookeper://zk1 tasks", exitUsage, "did you mean zookeeper\ntry: --store zookeeper://"},
		"hold of a leader":  {"run --store memory: --protocol leader --listen none --member m --hold 9s tasks", exitUsage, "try: no --hold"},
		"hold of a lease":   {"run --store memory: --protocol lease --listen none --member m --hold 9s tasks", exitUsage, "hold: under the protocol lease"},
		"similar protocol":  {"run --store memory: --protocol leese --listen none tasks", exitUsage, "try: --protocol lease"},
		"similar level":     {"run --store memory: --log-level wran tasks", exitUsage, "try: --log-level warn"},
		"similar sink":      {"run --store memory: --publish fiel:x tasks", exitUsage, "try: --publish file:x"},
		"secret in a store": {"run --store nope://me:hunter2@host tasks", exitUsage, "***"},
		"store not there":   {"status --store file:nope", exitFailed, "no store"},
		"memory elsewhere":  {"task list --store memory:", exitUsage, "inside one process"},
		"memory of a name":  {"demo --store memory:x", exitUsage, "nothing behind the colon"},
		"demo on nothing":   {"demo --store zookeeper:", exitUsage, "not a URL"},
		"demo on a file":    {"demo --store file:tasks/a.yaml", exitFailed, "it is a file, and a store is a directory"},
		"check of a file":   {"store check file:tasks/a.yaml", exitFailed, "it is a file, and a store is a directory"},
		"demo of no server": {"demo --store nats://127.0.0.1:1", exitFailed, "cannot be used"},
		"demo of no kind":   {"demo --store zookeper://zk1", exitUsage, "unknown kind"},
		"no such directory": {"run --store memory: nope", exitUsage, "nope is not a directory"},
		"bad member":        {"run --store memory: --member a/b tasks", exitUsage, `"a/b"`},
		"bad network":       {"run --store memory: --allow-net 10.0.0.0/99 tasks", exitUsage, "10.0.0.0/99"},
		"bad directory":     {"run --store memory: --allow-tail logs tasks", exitUsage, "absolute"},
		"bad program":       {"run --store memory: --allow-exec ls tasks", exitUsage, "absolute"},
		"bad level":         {"run --store memory: --log-level loud tasks", exitUsage, "loud"},
		"bad sink":          {"run --store memory: --publish carrier-pigeon tasks", exitUsage, "carrier-pigeon"},
		"nameless hold":     {"run --store memory: --hold 30s tasks", exitUsage, "of the same name"},
		"endless hold":      {"run --store memory: --member a --hold 30h tasks", exitUsage, "between 0 and 1h"},
		"long TTL":          {"run --store memory: --ttl 1000h --listen none tasks", exitUsage, "above 24h"},
		"short TTL":         {"run --store memory: --ttl 1ms --listen none tasks", exitUsage, "1ms"},
		"open to all":       {"run --store memory: --listen 0.0.0.0:7600 tasks", exitUsage, "TLS"},
		"port in use":       {"run --store memory: --listen " + busy.Addr().String() + " tasks", exitFailed, "in use"},
		"secret written":    {"run --store memory: --api-token hunter2 tasks", exitUsage, "env:NAME"},
		"task is missing":   {"why --store file:nope", exitUsage, "one argument"},
		"too many":          {"status --store file:nope extra", exitUsage, `"extra"`},
		"too many scripts":  {"simulate a b", exitUsage, "one script"},
		"no such script":    {"simulate nope.txt", exitUsage, "nope.txt"},
		"no function":       {"function call --store file:nope", exitUsage, "one argument"},
		"not a call":        {"function cancel --store file:nope", exitUsage, "one argument"},
		"command of a noun": {"task lsit --store file:x", exitUsage, "unknown command \"task lsit\"\ntry: rota task list"},
		"flag of a noun":    {"task --stoer file:x", exitUsage, "unknown flag: --stoer"},
		"other output":      {"task list -o yaml", exitUsage, "it is text or json"},
		"bad argument":      {"function call ping --arg {x} --store file:nope", exitUsage, "not JSON"},
		"call nobody":       {"function call ping --store file:nope", exitFailed, "nope"},
		"no settings":       {"status --config nope.yaml", exitUsage, "nope.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := p.rota(strings.Fields(c.args)...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			said := lines[max(0, len(lines)-2)]
			switch {
			case code != c.code:
				t.Errorf("exit %d, want %d; it said %s", code, c.code, stderr)
			case stdout != "":
				t.Errorf("stdout has %q", stdout)
			case !strings.HasPrefix(said, "rota: ") || !strings.Contains(stderr, c.want):
				t.Errorf("it said %q, want something about %q", said, c.want)
			case !strings.HasPrefix(lines[len(lines)-1], "try: "):
				t.Errorf("it does not say what to try: %q", stderr)
			case strings.Contains(stderr, "hunter2"):
				t.Errorf("it tells a secret: %q", stderr)
			}
		})
	}
}

func TestSettingsComeFromFlagEnvironmentFileDefault(t *testing.T) {
	p := newPlace(t)
	p.write("rota.yaml", "store: file:from-file\nttl: 7s\nweight: 50\nlabel: {zone: a, disk: ssd}\napi-token: env:SECRET\ntasks: [./checks]\n")
	out, errs, code := with(map[string]string{"ROTA_TTL": "5s", "ROTA_WEIGHT": "20"}, "", "config", "--weight", "10")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	got := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		got[f[0]] = strings.Join(f[1:], " ")
	}
	for name, want := range map[string]string{
		"store":     "file:from-file file rota.yaml",
		"ttl":       "5s environment ROTA_TTL",
		"weight":    "10 flag",
		"label":     "disk=ssd,zone=a file rota.yaml",
		"api-token": "*** file rota.yaml",
		"publish":   "stdout default",
		"tasks":     "./checks file rota.yaml",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	p.write("rota.yaml", "wieght: 5\n")
	if _, stderr, code := p.rota("config"); code != exitUsage || !strings.Contains(stderr, `"wieght"`) {
		t.Errorf("exit %d, %q; want a usage error about the unknown setting", code, stderr)
	}
	p.write("rota.yaml", "weight: [\n")
	if _, stderr, code := p.rota("config"); code != exitUsage || !strings.Contains(stderr, "rota.yaml") {
		t.Errorf("exit %d, %q; want a usage error about the file", code, stderr)
	}
}
