package configs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"

	"gander/schemas/fault"
)

func flags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet("gander", pflag.ContinueOnError)
	f.String("warehouse", "warehouse", "")
	f.String("log-format", "text", "")
	f.Int("workers", 0, "")
	f.Bool("strict", false, "")
	f.String("config", "", "")
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gander.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPrecedence(t *testing.T) {
	conf := file(t, "warehouse: from-file\nworkers: 3\nlog-format: json\n")
	t.Setenv("GANDER_WAREHOUSE", "from-env")
	t.Setenv("GANDER_LOG_FORMAT", "text")
	c, err := Load(flags(t, "--warehouse", "from-flag"), conf)
	if err != nil {
		t.Fatal(err)
	}
	if c.Warehouse != "from-flag" || c.LogFormat != "text" || c.Workers != 3 || c.Strict {
		t.Errorf("flag, environment, file, default: got %+v", c)
	}
	c, err = Load(flags(t), "")
	if err != nil || c.Warehouse != "from-env" {
		t.Errorf("environment before default: %+v, %v", c, err)
	}
}

func TestExampleIsTheDefaults(t *testing.T) {
	c, err := Load(flags(t), file(t, Example))
	if err != nil {
		t.Fatal(err)
	}
	d := Defaults()
	d.MaxScratchBytes = 64_000_000_000
	if c != d {
		t.Errorf("configs/gander.yaml gives %+v, defaults are %+v", c, d)
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":  "warehous: x\n",
		"wrong type":   "workers: many\n",
		"no YAML":      "a: [\n",
		"log format":   "log-format: xml\n",
		"below 0":      "workers: -1\n",
		"no warehouse": "warehouse: ''\n",
		"scratch":      "max-scratch: lots\n",
		"scratch of 0": "max-scratch: 0\n",
		"memory":       "memory-limit: 1 banana\n",
	} {
		if _, err := Load(flags(t), file(t, text)); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (hint %q)", name, err, fault.HintOf(err))
		}
	}
	if _, err := Load(flags(t), filepath.Join(t.TempDir(), "none.yaml")); fault.KindOf(err) != fault.Usage {
		t.Errorf("no file: %v", err)
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "512": 512, "1kB": 1000, "64GB": 64e9, "1.5MiB": 3 << 19, "2 gb": 2e9, " 7b ": 7} {
		if got, ok := parseSize(in); !ok || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "GB", "-1", "0", "1 banana", "1e400GB", "NaN", "9999999999TB"} {
		if got, ok := parseSize(in); ok {
			t.Errorf("parseSize(%q) = %d", in, got)
		}
	}
}
