// Package work runs what was granted: the supervisor of one member.
package work
