// Package schedule decides who gets what: pure functions of integers and sorted lists.
package schedule
