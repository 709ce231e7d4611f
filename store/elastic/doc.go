// Package elastic is a store in an index of Elasticsearch.
package elastic
