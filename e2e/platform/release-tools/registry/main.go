// Command registry is distribution's registry, with the one storage that tests need: a folder.
package main

import (
	"log"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		log.Fatal(err)
	}
}
