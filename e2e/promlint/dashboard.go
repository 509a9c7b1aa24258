package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// dashboard holds the parts of Grafana's JSON that are checked.
type dashboard struct {
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []struct {
			Name  string `json:"name"`
			Type  string `json:"type"`
			Query any    `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	ID      int    `json:"id"`
	Title   string `json:"title"`
	Type    string `json:"type"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Targets []struct {
		Expr         string `json:"expr"`
		RefID        string `json:"refId"`
		LegendFormat string `json:"legendFormat"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Description string `json:"description"`
}

// columns is the width of Grafana's grid.
const columns = 24

// readDashboard reads a dashboard and checks that panels have unique ids, do not overlap, and
// have titles, units and content.
func readDashboard(path string) (all []expression, wrong []error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, []error{err}
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, []error{err}
	}
	fault := func(at, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
	}
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 36 || len(d.Panels) == 0 {
		fault("dashboard", "title, uid, schemaVersion or panels are missing")
	}
	ids := map[int]string{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		at := fmt.Sprintf("panel %d, %q", p.ID, p.Title)
		if other, ok := ids[p.ID]; ok || p.ID == 0 || p.Title == "" {
			fault(at, "its id or title is missing or that of %q", other)
		}
		ids[p.ID] = p.Title
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > columns {
			fault(at, "it does not lie in the grid")
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					fault(at, "it lies on %q", other)
					x = columns
					break
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.FieldConfig.Defaults.Unit == "" || p.Description == "" {
			fault(at, "targets, unit or description are missing")
		}
		refs := map[string]bool{}
		for _, t := range p.Targets {
			if t.RefID == "" || refs[t.RefID] {
				fault(at, "refId %q is missing or there twice", t.RefID)
			}
			refs[t.RefID] = true
			all = append(all, expression{at + ", " + t.RefID, d.filled(t.Expr)})
		}
	}
	return all, wrong
}

// filled replaces Grafana's variables by values.
func (d *dashboard) filled(expr string) string {
	for _, v := range []string{"$__rate_interval", "$__range", "$__interval"} {
		expr = strings.ReplaceAll(expr, v, "5m")
	}
	for _, v := range d.Templating.List {
		expr = strings.ReplaceAll(expr, "$"+v.Name, "x")
	}
	return expr
}
