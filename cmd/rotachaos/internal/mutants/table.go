package mutants

// mutant is a flaw: texts of a source file that are replaced by others.
type mutant struct {
	name    string
	file    string   // from the root of the module
	changes []change // of it
	only    []string // kinds of events that bring it to light
	events  int
	proof   string // what a violation must begin with
}

type change struct{ old, new string }

// table are the flaws. Each breaks one promise.
func table() []mutant {
	changes := []string{"kill", "start-same-name", "start-new-name", "leave"}
	return []mutant{
		{
			"an owner says that it has stopped and goes on for a while", "protocol/replica/step_assign.go",
			[]change{
				{"d.Role == cluster.RoleStop && (r == nil || ended):", "d.Role == cluster.RoleStop:"},
				{"		if d.Role == cluster.RoleStop {\n", "		if d.Role == cluster.RoleStop && d.Token == 0 {\n"},
			},
			changes, 30, "G2",
		},
		{
			"a token is kept when a partition moves", "cluster/apply_partition.go",
			[]change{{"		d.grant(p, p.Next, p.Cause)\n\tdefault", "		d.grant(p, p.Next, p.Cause)\n		p.Token = c.Token\n		d.setPartition(p)\n\tdefault"}},
			changes, 20, "G1",
		},
		{
			"others wait for a fifth of the time only", "protocol/replica/step.go",
			[]change{{`return period(p.TTL, 1000+p.Rho) }`, `return period(p.TTL, 200) }`}}, []string{"fsync-fails", "write-fails"}, 12, "G2",
		},
		{
			"a silent member is never given up", "protocol/replica/step_pulse.go",
			[]change{{`return g.gone() || g.known &&`, `return g.gone() || false && g.known &&`}}, []string{"suspend-long"}, 4, "G4",
		},
		{
			"a member that was removed does not come back", "protocol/replica/step_join.go",
			[]change{{"	s.phase = phaseClaim\n}\n\n// leave", "	s.phase = phaseRemoved\n}\n\n// leave"}}, []string{"suspend-long"}, 3, "G9",
		},
		{
			"a task leaves out an item after each move", "tasks/witnessitems.go",
			[]change{{"	return done, nil\n", "	return done + 1, nil\n"}}, []string{"task-add", "kill", "start-same-name"}, 30, "G6",
		},
		{
			"a file that is removed does not end its task", "source/directory/step_diff.go",
			[]change{{"	kills := removed(scan, value, name, f)\n", "	kills := removed(scan, value, name, f)[:0]\n"}}, []string{"task-remove"}, 3, "G9",
		},
		{
			"a store whose end was cut off is opened", "store/file/mark.go",
			[]change{{"	if head < mark {\n", "	if head < mark && mark == 0 {\n"}}, []string{"store-damaged"}, 9, "STORE",
		},
	}
}
