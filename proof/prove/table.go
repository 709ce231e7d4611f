package main

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// stages are those of the proof, in their order: what fails fast comes first. Least amounts are fixed: the machine may
// be slow, and then the proof takes longer.
func stages() []stage {
	budget := os.Getenv("BUDGET")
	out := []stage{
		{name: "lint", dir: ".", apart: true, command: []string{".ci/lint"}},
		{name: "vet", dir: "proof", command: []string{"go", "vet", "./..."}},
		// Without go test's own vet: make test vets the root, and the stage vet the rest.
		{name: "race", dir: ".", command: goTest("-race", "-vet=off", "-skip", "^("+strings.Join(withoutRace(), "|")+
			")$", "./..."), tests: true, least: amounts{"passed": 2760}},
		// Its bounds of time are for a machine that does nothing else: it must not lend.
		{name: "demo", dir: ".", command: []string{".ci/demo", "5"}, least: amounts{"played": 5, "ok": 5}},
		// As lint, these build with instruments or libraries that nothing else needs. CI has jobs for them.
		{name: "fuzz", dir: ".", apart: true, command: []string{".ci/fuzz", "8000x"}, least: amounts{"fuzzers": 20}},
		{name: "contrib", dir: ".", apart: true, command: []string{".ci/modules"},
			least: amounts{"modules": 3, "passed": 63}},
		{name: "charts", dir: "deploy", apart: true, command: goTest("./..."), tests: true, rerun: true,
			least: amounts{"passed": 19}},
		{name: "deploy", dir: "deploy", lends: true, command: goTest("-tags", "quick", "./..."), tests: true,
			rerun: true,
			least: amounts{"passed": 9}},
		{name: "platforms", dir: "proof", computes: true, memory: 2, command: []string{"go", "run", "./platforms",
			"darwin/arm64", "windows/amd64"}, least: amounts{"platforms": 2, "packages": 600}},
		// Real servers, and beside them real processes. Most of them wait, so more of them run at once than there are
		// processors. What takes longest begins first; Kafka's servers do not start while Elasticsearch's do.
		{name: "servers", dir: "proof", beside: true, lends: true, memory: 4,
			command: serverTest(), tests: true, rerun: true, least: serverAmounts()},
		// The same with the race detector, for which all that is linked is compiled once more.
		{name: "servers-race", dir: "proof", apart: true,
			command: serverTest("-race"), tests: true, rerun: true, least: serverAmounts()},
		{name: "processes", dir: "proof", beside: true, lends: true, memory: 2,
			command: goTest(append([]string{"-vet=off", "-p", "1", "-parallel", "2"}, processTests()...)...),
			tests:   true, rerun: true, least: amounts{"passed": 200}},
		{name: "suites", dir: ".", lends: true, command: goTest("-tags", "proof", "-parallel", "16",
			"./store/storetest"), tests: true, rerun: true, least: amounts{"passed": 100}},
		{name: "models", dir: ".", computes: true, command: goTest("-tags", "proof", "-run", "WithDeaths|Seconds",
			"./lock", "./call", "./store/engine/log"), tests: true, least: amounts{"passed": 20}},
		{name: "engine", dir: ".", computes: true, command: goTest("-tags", "proof", "-run", "TestFlawsAreFound",
			"./store/engine", "./store/engine/log", "./store/driver/drivertest"), tests: true,
			least: amounts{"passed": 100}},
		{name: "flow", dir: ".", computes: true, command: goTest("-tags", "proof", "-run",
			"TestFlawsAreFound|TestSealingScripts|TestSeeds$|TestProof$", "./internal/flow"), tests: true,
			least: amounts{"passed": 35}},
		{name: "flows", dir: "proof", lends: true, memory: 3,
			command: []string{"go", "run", "./flows", "--runs", "10", "--together", "4", "--json"},
			least:   amounts{"runs": 10, "ok": 1, "segments": 7500, "kills": 10, "server_kills": 8}},
		{name: "fold", dir: ".", computes: true, command: goTest("-tags", "proof", "-run", "TestFlawsAreFound",
			"./store/internal/fold", "./store/internal/logqueue", "./store/memory", "./store/kafka"),
			tests: true, least: amounts{"passed": 47}},
	}
	for _, p := range protocols() {
		out = append(out, p.stages(budget)...)
	}
	for _, p := range protocols() {
		out = append(out, p.chaos()...)
	}
	return out
}

// withoutRace are tests of the root that make test alone plays. They count and measure, in virtual time and in walks in
// which one goroutine runs at a time: a race in the same code is found where the race detector sees the stories, the
// storms and the suites.
func withoutRace() []string {
	return []string{
		"TestTimes", "TestIdleMembersAskSeldom", "TestWhatIsRefusedIsNotSaidForEver", "TestAnHourlyJobRunsOncePerHour",
		"TestFreeIsClaimedSoon", "TestAnOutageChangesNothing", "TestADeathInAnOutage", "TestADeputyLeads",
		"TestADeputyFencesNobody", // hours of virtual time
		"TestProof", "TestEveryInterleaving", "TestEveryInterleavingWith", "TestEveryInterleavingByNames",
		"TestEveryInterleavingJournal", // walks
	}
}

// serverTests are the packages of the proof in which what is tested is in the process of the test, with goroutines that
// could race.
func serverTests() []string {
	return []string{"./stores/elastic", "./stores/etcd", "./stores/nats", "./stores/...", "./server/...", "./calls",
		"./locks", "./examples/changestream", "./faultproxy", "./process/...", "./openapi", "./prove"}
}

// serverTest is the command that plays serverTests, two packages and two tests of each at once.
func serverTest(flags ...string) []string {
	return goTest(slices.Concat(flags, []string{"-vet=off", "-p", "2", "-parallel", "2"}, serverTests())...)
}

// processTests are those that start what they test, as users do. make test runs the others of the proof: DRY in the
// Makefile.
func processTests() []string {
	return []string{"./cli", "./browser", "./examples", "./pages/...", "./bench/...", "./chaos/...", "./demoserver/...",
		"./flows/...", "./platforms"}
}

// protocol is one whose simulator, checker, mutants and chaos are stages of their own.
type protocol struct {
	name   string
	suffix string // of the stages' names
	walks  float64
	states float64
	seeds  int
	hours  string  // of each seed
	pairs  bool    // each fault must hit in each phase in which it can
	hourly float64 // cluster-hours at least
	kinds  float64 // of faults
	flaws  float64 // 0: they are not played here
	// guardians are the walks in which processes have them; 0: none is known.
	guardians float64
	// owned is the least share of the time in which tasks could have an owner, by the store on which chaos is played:
	// see docs/internals/chaos.md.
	owned amounts
}

func protocols() []protocol {
	return []protocol{
		{name: "replica", walks: 12, states: 436_900, seeds: 120, hours: "1", pairs: true, hourly: 120, kinds: 40,
			flaws: 96, guardians: 3, owned: amounts{"file": 0.85, "etcd": 0.8, "nats": 0.8, "postgres": 0.75,
				"zookeeper": 0.75}},
		{name: "sync", suffix: "-sync", walks: 7, states: 51_400, seeds: 60, hours: "1", pairs: true, hourly: 60,
			kinds: 42, flaws: 23, owned: amounts{"kafka": 0.65}},
		{name: "leader", suffix: "-leader", walks: 7, states: 52_900, seeds: 100, hours: "1", pairs: true, hourly: 100,
			kinds: 40, flaws: 20, guardians: 2, owned: amounts{"etcd": 0.6}},
		{name: "lease", suffix: "-lease", walks: 7, states: 1_137, seeds: 100, hours: "1", pairs: true, hourly: 100,
			kinds: 41, flaws: 35, guardians: 3, owned: amounts{"nats": 0.55, "elastic": 0.4}},
	}
}

func (p protocol) stages(budget string) []stage {
	simulate := func(args ...string) []string { return rotasim(append(args, "--protocol", p.name)...) }
	seeds := []string{"--seeds", strconv.Itoa(p.seeds), "--hours", p.hours}
	if p.pairs {
		seeds = append(seeds, "--all-pairs")
	}
	out := []stage{
		{name: "check" + p.suffix, dir: "proof", computes: true, memory: 4, command: simulate("check", "--suite",
			"push"), least: amounts{"complete": 1, "walks": p.walks, "states": p.states}},
		{name: "sim" + p.suffix, dir: "proof", computes: true, command: withBudget(simulate(seeds...), budget),
			least: amounts{"seeds": float64(p.seeds), "cluster_hours": p.hourly, "fault_kinds": p.kinds}},
	}
	if p.guardians > 0 {
		out = append(out, stage{name: "check-guardian" + p.suffix, dir: "proof", computes: true,
			command: simulate("check", "--suite", "guardian"), least: amounts{"complete": 1, "walks": p.guardians}})
	}
	if p.flaws > 0 {
		out = append(out, stage{name: "mutants" + p.suffix, dir: "proof", computes: true, command: simulate("mutants"),
			least: amounts{"tried": p.flaws, "killed": p.flaws}})
	}
	return out
}

// chaos is played on real processes, which mostly wait.
func (p protocol) chaos() []stage {
	var out []stage
	for _, store := range slices.Sorted(maps.Keys(p.owned)) {
		out = append(out, stage{
			name: "chaos-" + store + p.suffix, dir: "proof", beside: true, lends: true, memory: 2,
			command: []string{"go", "run", "./chaos", "--protocol", p.name, "--store", store, "--events", "100",
				"--json"}, least: amounts{"events": 100, "ok": 1, "owned_of_possible": p.owned[store]},
		})
	}
	return out
}

// serverAmounts are those of the suites on each store: none may be left out on any of them.
func serverAmounts() amounts {
	out := amounts{"passed": 1300}
	lacking := map[string]int{
		"etcd": 2, "postgres": 2, "zookeeper": 2, // no Group, no Queue of their own
		"nats":    1, // no Group
		"kafka":   1, // no sessions
		"elastic": 5, // no Group, no Queue, no watches of documents and of the log, no sessions
	}
	for _, store := range []string{"elastic", "etcd", "kafka", "nats", "postgres", "zookeeper"} {
		out["suites stores/"+store] = float64(len(suites) - lacking[store])
	}
	return out
}

func goTest(args ...string) []string {
	return append([]string{"go", "test", "-json", "-count=1", "-timeout", "15m"}, args...)
}

func rotasim(args ...string) []string {
	return append(append([]string{"go", "run", "./rotasim"}, args...), "--json")
}

// withBudget lets a command do more than its least amount for some time.
func withBudget(command []string, budget string) []string {
	if budget == "" {
		return command
	}
	return append(command, "--budget", budget)
}
