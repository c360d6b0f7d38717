// Command dashboard judges a dashboard on stdin by Grafana's own schemas: what they do not know, or miss, is an error.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

type panel struct {
	Type    string            `json:"type"`
	Targets []json.RawMessage `json:"targets"`
}

func main() {
	raw, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(raw)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(raw []byte) error {
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	found := dashboard.Dashboard{}
	if err := first(found.UnmarshalJSONStrict(raw), found.Validate); err != nil {
		return err
	}
	var panels struct {
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(raw, &panels); err != nil {
		return err
	}
	for i, each := range panels.Panels {
		if err := checkPanel(runtime, each); err != nil {
			return fmt.Errorf("panels[%d]: %w", i, err)
		}
	}
	return nil
}

// checkPanel judges what the dashboard's schema leaves to plugins: which they are, and what they ask.
func checkPanel(runtime *cog.Runtime, panel panel) error {
	if _, found := runtime.ConfigForPanelcfgVariant(panel.Type); !found {
		return fmt.Errorf("no schema is here for panels of type %q", panel.Type)
	}
	for i, target := range panel.Targets {
		query := prometheus.Dataquery{}
		if err := first(query.UnmarshalJSONStrict(target), query.Validate); err != nil {
			return fmt.Errorf("targets[%d]: %w", i, err)
		}
	}
	return nil
}

// first is what was wrong with the reading, else with what was read. The library returns an empty list where nothing is, which is no nil error.
func first(read error, validate func() error) error {
	if read != nil && read.Error() != "" {
		return read
	}
	if err := validate(); err != nil && err.Error() != "" {
		return err
	}
	return nil
}
