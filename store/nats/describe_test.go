package nats

import "testing"

func TestServerVersions(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{
		"2.12.3": true, "2.12.10": true, "2.15.2": true, "3.0.0": true, "2.13.0-RC.1": true,
		"2.12.2": false, "2.11.99": false, "1.99.99": false, "2.9.25": false, "": false, "two": false,
	} {
		if err := checkServerVersion(version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
}
