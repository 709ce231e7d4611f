package call

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rota-run/rota/cluster"
)

// labelKey begins the keys of the labels in which a member tells its functions.
const labelKey = "rota.functions"

// labelSize bounds one label; the names go into as many as it takes.
const labelSize = 4000

// Labels returns the labels by which a member announces its functions; none for no functions.
func Labels(functions []Function) map[string]string {
	out := make(map[string]string)
	key := labelKey
	for _, name := range Names(functions) {
		if out[key] != "" && len(out[key])+1+len(name) > labelSize {
			key = labelKey + "." + strconv.Itoa(len(out)+1)
		}
		if out[key] != "" {
			name = out[key] + "," + name
		}
		out[key] = name
	}
	return out
}

// Offered returns the functions that a member announces, sorted.
func Offered(m cluster.Member) []string {
	var names []string
	for _, l := range m.Labels {
		if l.Key == labelKey || strings.HasPrefix(l.Key, labelKey+".") {
			names = append(names, strings.Split(l.Value, ",")...)
		}
	}
	slices.Sort(names)
	return names
}
