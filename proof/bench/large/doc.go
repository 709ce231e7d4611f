// Command large measures clusters of many tasks or many processes on one machine: how long until all have joined and all tasks run, what a look costs, how
// much memory and processor time the members use, and after a kill -9, when the last task runs elsewhere.
//
//	go run -C proof ./bench/large                              # 100,000 tasks, three members
//	go run -C proof ./bench/large --members 64 --tasks 64      # many processes, for as long as --watch says
//	go run -C proof ./bench/large --members 200 --tasks 200 --server etcd
package main
