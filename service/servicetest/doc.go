// Package servicetest calls a server in tests: requests, answers that are compared with the description of the API,
// and damage to the databases of its data folder.
package servicetest
