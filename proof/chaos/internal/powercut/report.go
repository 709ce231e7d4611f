package powercut

// Report is the outcome.
type Report struct {
	Cuts     int      `json:"cuts"`
	Acked    int      `json:"acked"`    // entries, changes of documents and commits of a flow that were acknowledged
	Lost     int      `json:"lost"`     // of these
	Segments int      `json:"segments"` // of the flow, looked for after each cut and found in one place
	FS       []string `json:"fs"`
	NotDone  []string `json:"not_done"`  // file systems that could not be had, and why
	Stores   int      `json:"stores"`    // that were recreated, some of them cut right then
	Unknown  int      `json:"unknown"`   // entries that were on their way when it was cut, and are there
	Late     int      `json:"late"`      // entries whose acknowledgement came while the power was being cut
	LateGone int      `json:"late_gone"` // of these, not there
	Control  Control  `json:"control"`
	Faults   []string `json:"faults"`
	Seed     uint64   `json:"seed"`
	Seconds  float64  `json:"seconds"`
	Kept     string   `json:"kept,omitempty"`
	Possible bool     `json:"possible"` // false: nothing could be done here
	OK       bool     `json:"ok"`
}

// Control is what became of writers whose fsync was a lie.
type Control struct {
	Cuts  int    `json:"cuts"`
	Acked int    `json:"acked"`
	Lost  int    `json:"lost"`
	Why   string `json:"why,omitempty"` // it was not done
}

func (r *Report) decide() {
	r.Possible = r.Cuts > 0
	if r.Control.Cuts > 0 && r.Control.Lost == 0 {
		r.Faults = append(r.Faults, "writers whose fsync was a lie lost nothing: this rig would notice nothing")
	}
	r.OK = r.Possible && len(r.Faults) == 0 && r.Lost == 0
}
