//! The page of `tuner report`: its structure, and how a browser shows it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{GPU, Tuner, skip};
use serde_json::Value;

const SECTIONS: [&str; 6] = ["entries", "curves", "roofline", "knobs", "failures", "environment"];
const TRIALS: usize = 40;

/// A folder with a run and its page.
fn with_page() -> (Tuner, PathBuf) {
    let tuner = Tuner::new();
    let evaluations = TRIALS.to_string();
    assert!(tuner.run(&["--evaluations", &evaluations]).status.success());
    let output = tuner.sub(&["report"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = tuner.out("report.html");
    (tuner, page)
}

#[test]
#[cfg(unix)]
fn a_page_that_follows_a_search_refreshes_itself_and_the_last_one_stands_still() {
    let tuner = Tuner::new();
    let mut following = tuner.plain(&["report", "--follow", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let trials = TRIALS.to_string();
    let args = ["--shape", "4096x4096x4096", "--evaluations", &trials, "--generations", "4", "--replay-delay-ms", "40"];
    assert!(tuner.run(&args).status.success());
    let page = || std::fs::read_to_string(tuner.out("report.html")).unwrap_or_default();
    let deadline = Instant::now() + Duration::from_secs(120);
    while !page().contains(&format!("{TRIALS} trials of 1 target")) {
        assert!(Instant::now() < deadline, "the page does not follow");
        std::thread::sleep(Duration::from_millis(20));
    }
    let refreshing = "<meta http-equiv=\"refresh\" content=\"1\">";
    assert!(page().contains(refreshing));
    assert!(Command::new("kill").arg(following.id().to_string()).status().unwrap().success());
    assert!(following.wait().unwrap().success());
    assert!(page().contains("<section id=\"curves\">") && !page().contains(refreshing));
}

#[test]
fn a_page_that_follows_is_written_again_when_a_final_or_the_config_changed_though_nothing_was_tried() {
    let tuner = Tuner::new();
    assert!(tuner.run(&["--shape", "4096x4096x4096", "--evaluations", "20"]).status.success());
    let page = tuner.out("report.html");
    let mut following = tuner.plain(&["report", "--follow", "1"]).stdout(Stdio::piped()).spawn().unwrap();
    let wait = |what: &str| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !page.exists() {
            assert!(Instant::now() < deadline, "no page after {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Whoever reads it meanwhile sees a whole page: it is put in place by a rename.
        std::fs::remove_file(&page).unwrap();
    };
    wait("the start");
    for file in ["results.json", "best_config.json"] {
        let text = std::fs::read_to_string(tuner.out(file)).unwrap();
        std::fs::write(tuner.out(file), format!("{text}\n")).unwrap();
        wait(file);
    }
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!page.exists(), "nothing changed");
    assert!(Command::new("kill").arg(following.id().to_string()).status().unwrap().success());
    assert!(following.wait().unwrap().success());
}

#[test]
fn the_page_has_every_section_and_nothing_from_outside() {
    let (_tuner, page) = with_page();
    let html = std::fs::read_to_string(page).unwrap();
    for section in SECTIONS {
        assert!(html.contains(&format!("<section id=\"{section}\">")), "{section}");
    }
    // The name of SVG's namespace is no address that anything is fetched from.
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "<script", "<link", "url(", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains(GPU) && html.contains("prefers-color-scheme: dark"));
}

#[test]
fn the_page_has_a_curve_and_an_entry_for_each_target_and_a_table_for_each_knob() {
    let (tuner, page) = with_page();
    let html = std::fs::read_to_string(page).unwrap();
    let journal = std::fs::read_to_string(tuner.out("history.jsonl")).unwrap();
    let measured = journal.lines().filter(|line| line.contains("\"status\":\"measured\"")).count();
    assert!(measured > TRIALS, "{measured}");
    // One filled point a timed trial, one for each best, one open for each default.
    assert_eq!(html.matches("<circle").count(), measured + 2 + 2);
    for knob in ["tile_m", "tile_n", "stages", "raster_group"] {
        assert!(html.contains(&format!("<code>{knob}</code>")), "{knob}");
    }
    assert!(html.contains("× cuBLAS") && html.contains("promoted"));
}

#[test]
fn a_folder_without_a_journal_is_named_with_what_to_do() {
    let output = Tuner::without_spaces().sub(&["report", "nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("nowhere") && message.contains("tuner tune"), "{message}");
}

#[test]
fn a_browser_shows_every_section_and_point_without_network_error_or_sideways_scrolling() {
    let Some(browser) = browser() else {
        let reason = "no browser found; install chromium, or name one in AUTOKERNEL_BROWSER";
        skip(
            "report_page::a_browser_shows_every_section_and_point_without_network_error_or_sideways_scrolling",
            reason,
        );
        return;
    };
    let (tuner, page) = with_page();
    for width in [1280, 768, 375] {
        let seen = look(&browser, tuner.folder(), &page, width);
        assert_eq!(seen["requests"], 0, "{width}: {seen}");
        assert_eq!(seen["errors"].as_array().map(Vec::len), Some(0), "{width}: {seen}");
        assert_eq!(seen["viewport"], width, "{seen}");
        assert!(seen["scroll_width"].as_u64().unwrap() <= u64::from(width), "{width}: scrolls sideways: {seen}");
        let sections = seen["sections"].as_array().unwrap();
        let names: Vec<&str> = sections.iter().map(|section| section["id"].as_str().unwrap()).collect();
        assert_eq!(names, SECTIONS);
        assert_eq!(seen["cut_off"], 0, "{width}: a cell of a table lies outside of its section: {seen}");
        for section in sections {
            assert!(section["width"].as_f64() > Some(200.0) && section["height"].as_f64() > Some(40.0), "{seen}");
        }
        let figures = seen["figures"].as_array().unwrap();
        assert_eq!(figures.len(), 3, "two curves and a roofline: {seen}");
        for figure in figures {
            assert_eq!(figure["points"], figure["expected"], "{width}: {figure}");
            assert!(figure["points"].as_u64() > Some(0) && figure["height"].as_f64() > Some(100.0), "{figure}");
            assert!(figure["width"].as_f64() < Some(560.0), "{width}: blown up: {figure}");
        }
    }
}

/// A Chromium of this machine.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("AUTOKERNEL_BROWSER") {
        return Some(PathBuf::from(named));
    }
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// What a probe inside the browser sees of the page, `width` pixels wide.
///
/// The page is put into a frame of that width; its own policy forbids scripts, so the probe is in the page around it.
fn look(browser: &Path, folder: &Path, page: &Path, width: u32) -> Value {
    let html = std::fs::read_to_string(page).unwrap();
    let probe = PROBE.replace("WIDTH", &width.to_string()).replace("PAGE", &attribute(&html));
    let path = folder.join(format!("probe-{width}.html"));
    std::fs::write(&path, probe).unwrap();
    let profile = format!("--user-data-dir={}", folder.join(format!("profile-{width}")).display());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1400,1200"])
        .args(["--virtual-time-budget=5000", "--dump-dom", &profile])
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let seen = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (seen, _) = seen.unwrap_or_else(|| panic!("the probe saw nothing:\n{dom}\n{log}"));
    let mut seen: Value = serde_json::from_str(seen).unwrap();
    let errors = log.lines().filter(|line| line.contains(":CONSOLE")).map(Value::from).collect();
    seen["errors"] = Value::Array(errors);
    seen
}

/// `text` as the value of an attribute in double quotes.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

const PROBE: &str = r#"<!doctype html><meta charset="utf-8">
<iframe id="page" srcdoc="PAGE" style="border:0;width:WIDTHpx;height:1000px"></iframe>
<pre id="seen"></pre>
<script>
document.getElementById("page").addEventListener("load", event => {
  const frame = event.target.contentWindow, root = frame.document.documentElement;
  const size = element => { const box = element.getBoundingClientRect(); return {width: box.width, height: box.height}; };
  const all = selector => [...root.querySelectorAll(selector)];
  const visible = circle => { const box = circle.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
  document.getElementById("seen").textContent = JSON.stringify({
    requests: frame.performance.getEntriesByType("resource").length,
    viewport: frame.innerWidth,
    scroll_width: root.scrollWidth,
    cut_off: all("table :is(td, th)").filter(cell => cell.getBoundingClientRect().right > cell.closest("section > *, .grid > *").getBoundingClientRect().right + 1).length,
    sections: all("section").map(section => ({id: section.id, ...size(section)})),
    figures: all("figure").map(figure => ({
      expected: Number(figure.dataset.points),
      points: [...figure.querySelectorAll("circle")].filter(visible).length,
      ...size(figure.querySelector("svg")),
    })),
  });
});
</script>
"#;
