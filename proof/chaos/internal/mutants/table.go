package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// mutant is a flaw and how it comes to light.
type mutant struct {
	flaw.Flaw
	only   []string // kinds of events that bring it to light
	events int
	proof  string // what a violation must begin with
}

// table are the flaws. Each breaks one promise.
func table() []mutant {
	changes := []string{"kill", "start-same-name", "start-new-name", "leave"}
	return []mutant{
		{
			flaw.New("an owner says that it has stopped and goes on for a while", "protocol/duty/step.go",
				"d.Role == cluster.RoleStop && (r == nil || ended):", "d.Role == cluster.RoleStop:",
				"bool { return d.Role != cluster.RoleStop }", "bool { return d.Token != 0 }",
			), changes, 30, "G2",
		},
		{
			flaw.New("a token is kept when a partition moves", "cluster/command_partition.go",
				"		d.grant(p, p.Next, p.Cause)\n\tdefault", "		d.grant(p, p.Next, p.Cause)\n		p.Token = c.Token\n		d.setPartition(p)\n\tdefault",
			), changes, 20, "G1",
		},
		{
			flaw.New("others wait for a fifth of the time only", "protocol/heartbeat/timing.go",
				`return period(t.TTL, 1000+t.Rho)`, `return period(t.TTL, 200)`,
			), []string{"fsync-fails", "write-fails"}, 12, "G2",
		},
		{
			flaw.New("a silent member is never given up", "protocol/heartbeat/observation.go",
				`return o.Gone() || o.Known &&`, `return o.Gone() || false && o.Known &&`,
			), []string{"suspend-long"}, 4, "G4",
		},
		{
			flaw.New("a member that was removed does not come back", "protocol/replica/step_join.go",
				"	s.phase = phaseClaim\n}\n\n// leave", "	s.phase = phaseRemoved\n}\n\n// leave",
			), []string{"suspend-long"}, 3, "G9",
		},
		{
			flaw.New("a task leaves out an item after each move", "tasks/witnessitems.go",
				"	return done, nil\n", "	return done + 1, nil\n",
			), []string{"task-add", "kill", "start-same-name"}, 30, "G6",
		},
		{
			flaw.New("a file that is removed does not end its task", "source/directory/step_diff.go",
				"	kills := removed(scan, value, name, f, touched, all)\n", "	kills := removed(scan, value, name, f, touched, all)[:0]\n",
			), []string{"task-remove"}, 3, "G9",
		},
		{
			flaw.New("a store whose end was cut off is opened", "store/file/mark.go",
				"	if head < mark {\n", "	if head < mark && mark == 0 {\n",
			), []string{"store-damaged"}, 9, "STORE",
		},
	}
}
