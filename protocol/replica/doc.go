// Package replica is the masterless protocol: every member folds the same log.
package replica
