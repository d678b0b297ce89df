//! `sapwood dev`: a foreign client writes over HTTP, the process is killed and started again.

use std::process::Command;
use std::time::{Duration, Instant};

use sapwood_tests::client::{client, contents, node, put, put_all, s};

use crate::running::{Sapwood, TABLE};

/// A tree of 1,000 nodes below `moved`, which is below `from`; `to` stands by.
fn forest() -> Vec<std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>> {
    let mut nodes = vec![node("from", None, "from"), node("to", None, "to"), node("deeper", Some("to"), "deeper")];
    nodes.push(node("moved", Some("from"), "moved"));
    for n in 0..1_000_usize {
        let parent = n.checked_sub(1).map_or("moved".to_owned(), |n| format!("n{}", n / 12));
        nodes.push(node(&format!("n{n}"), Some(&parent), "n"));
    }
    nodes
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_a_large_move_it_goes_on_where_it_was() {
    let data = tempfile::tempdir().unwrap();
    let sapwood = Sapwood::start_on(data.path(), &["--mapping", "ParallelizationFactor=10"]);
    put_all(&sapwood.client, TABLE, forest()).await;
    sapwood.becomes_right().await;
    put(&sapwood.client, TABLE, node("moved", Some("deeper"), "moved")).await;
    // Killed as soon as a part of the subtree, but not all of it, has arrived.
    let begun = Instant::now();
    loop {
        let query = sapwood.client.query().table_name(TABLE).select(aws_sdk_dynamodb::types::Select::Count);
        let query = query
            .key_condition_expression("PK = :to AND begins_with(SK, :below)")
            .expression_attribute_values(":to", s("to"))
            .expression_attribute_values(":below", s("NODE#"));
        let arrived = query.send().await.unwrap().count();
        if arrived > 100 {
            println!("killed when {arrived} of 1,002 had arrived");
            assert!(arrived < 1_000, "too late: all had arrived");
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the move doesn't begin");
    }
    sapwood.kill();
    let sapwood = Sapwood::start_on(data.path(), &["--mapping", "ParallelizationFactor=10"]);
    assert_ne!(sapwood.differences().await.len(), 0, "nothing was left to do");
    sapwood.becomes_right().await;
    assert_eq!(sapwood.interrupt(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn written_from_many_sides_at_once_under_factor_10_it_ends_right() {
    let sapwood = Sapwood::start(&["--mapping", "ParallelizationFactor=10"]);
    let mut nodes: Vec<_> = (0..60).map(|n| node(&format!("n{n}"), None, "n")).collect();
    // Some that can't be understood among them: they must not hold up their neighbours.
    for n in 0..5 {
        let mut bad = node(&format!("bad{n}"), None, "bad");
        bad.insert("parent".to_owned(), aws_sdk_dynamodb::types::AttributeValue::Bool(true));
        nodes.push(bad);
    }
    put_all(&sapwood.client, TABLE, nodes).await;
    let writers: Vec<_> = (0..8_usize)
        .map(|writer| {
            let client = client(&sapwood.url);
            tokio::spawn(async move {
                // A different walk for each writer, the same ones every time.
                let mut at = writer * 7919 + 1;
                for _ in 0..60 {
                    at = (at * 48_271) % 2_147_483_647;
                    let (id, parent) = (at % 60, (at / 60) % 61);
                    let parent = (parent < 60).then(|| format!("n{parent}"));
                    put(&client, TABLE, node(&format!("n{id}"), parent.as_deref(), &format!("by {writer}"))).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    sapwood.becomes_right().await;
    assert_eq!(sapwood.interrupt(), 0);
}

#[test]
fn what_can_not_work_is_said_in_a_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let file = tempfile::NamedTempFile::new().unwrap();
    let broken = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sapwood")).arg("dev").args(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains("panicked"), "{error}");
        error
    };
    assert!(fails(&["--dynamodb", &taken]).contains("use"), "a port that is taken");
    assert!(fails(&["--dynamodb", "0.0.0.0:0"]).contains("loopback"));
    fails(&["--dynamodb", "127.0.0.1:0", "--data", file.path().to_str().unwrap()]);
    fails(&["--endpoint", "http://127.0.0.1:1"]);
    fails(&["--dynamodb", "127.0.0.1:0", "--parameter", "PathRows=perhaps"]);
    fails(&["--dynamodb", "127.0.0.1:0", "--parameter", "Nonsense=1"]);
    drop(Sapwood::start_on(broken.path(), &[]));
    for entry in std::fs::read_dir(broken.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension != "json") {
            std::fs::write(path, "this is no database").unwrap();
        }
    }
    let error = fails(&["--dynamodb", "127.0.0.1:0", "--data", broken.path().to_str().unwrap()]);
    println!("{error}");
}

/// Most lines of the demo, those of what has gone included: a terminal shows them without scrolling far.
const DEMO_LINES_MAX: usize = 50;

/// What the demo prints, started as cargo, npx or an installed command would start it.
fn demo(environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(["dev", "--demo"]).env_remove("CARGO_MANIFEST_DIR").env_remove("npm_command");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_demo_ends_by_itself_and_shows_what_it_says() {
    let text = demo(&[]);
    assert!(text.lines().count() <= DEMO_LINES_MAX, "{text}");
    let step = |number: usize| {
        let rest = text.split(&format!("\n{number}. ")).nth(1).unwrap();
        rest.split(&format!("\n{}. ", number + 1)).next().unwrap().to_owned()
    };
    assert!(step(1).contains("D  NODE#0001#III  Folder III") && step(1).contains("D  NODE#0001#V    Folder V"));
    assert!(step(2).contains("NODE#0001#d  Holiday pictures"));
    assert!(step(3).contains("NODE#0001#V ") && step(3).contains("NODE#0003#ii "), "{text}");
    let ordered = step(4);
    let place = |name: &str| ordered.find(name).unwrap();
    assert!(place("  A new beginning") < place("  Folder V") && place("  Folder V") < place("  Folder a"), "{ordered}");
    assert!(step(5).contains("v0_Audit  Lin") && !step(5).contains("Padma"));
    let links = step(6);
    assert!(links.contains("below CUSTOMER#12345") && links.contains("below CUSTOMER#67890"), "{links}");
    assert!(!links.contains("Keyboard"));
    let marked = |number: usize, mark: &str, key: &str| {
        step(number).lines().any(|line| line.trim_start_matches(' ').starts_with(mark) && line.contains(key))
    };
    assert!(marked(7, "III", "NODE#0001#a") && marked(7, "- ", "NODE#0001#V") && marked(7, "- ", "NODE#0003#ii "));
    assert!(marked(2, "~ ", "NODE#0001#d ") && marked(3, "+ ", "NODE#0003#ii ") && marked(3, "III", "NODE#0001#a "));
    assert!(!text.contains('\u{1b}'), "colours, and no terminal");
    assert!(text.contains("Next, the explorer"), "{text}");
    assert!(step(8).contains("10 nodes below, size 1803.25"), "{text}");
    assert!(step(9).contains("3 are repaired"), "{text}");
}

#[test]
fn the_demo_ends_with_the_callers_own_command() {
    for (environment, command) in [
        (&[][..], "sapwood dev --example folders"),
        (&[("CARGO_MANIFEST_DIR", "/somewhere")], "cargo run -- dev --example folders"),
        (&[("npm_command", "exec")], "npx sapwood dev --example folders"),
    ] {
        let text = demo(environment);
        assert!(text.lines().last().unwrap().trim_start().starts_with(command), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_handler_the_stream_is_left_to_another() {
    let sapwood = Sapwood::start(&["--no-handler"]);
    put(&sapwood.client, TABLE, node("root", None, "root")).await;
    put(&sapwood.client, TABLE, node("leaf", Some("root"), "leaf")).await;
    // As long as one would have needed many times over.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(contents(&sapwood.client, TABLE, ["PK", "SK"]).await.len(), 2);
    assert_eq!(sapwood.interrupt(), 0);
}

/// Sends a request with these headers to a URL. Returns the head of the answer.
fn head(url: &str, line: &str, headers: &[&str]) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "{line} HTTP/1.1\r\nconnection: close\r\n{}\r\n\r\n", headers.join("\r\n")).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split("\r\n\r\n").next().unwrap().to_lowercase()
}

#[test]
fn pages_of_a_browser_reach_neither_port_and_names_that_lead_here_neither() {
    let page = "http://localhost:5173";
    let parameter = format!("CorsOrigins={page}");
    let arguments = ["--http", "127.0.0.1:0", "--allow-host", "host.docker.internal", "--parameter", &parameter];
    let sapwood = Sapwood::start(&arguments);
    let http = sapwood.http.clone().unwrap();
    for (url, is_api) in [(&sapwood.url, false), (&http, true)] {
        let own = url.strip_prefix("http://").unwrap();
        let port = own.split_once(':').unwrap().1;
        let ask = |host: &str, origin: Option<&str>| {
            let host = format!("host: {host}");
            let origin = origin.map(|origin| format!("origin: {origin}"));
            let headers: Vec<&str> = std::iter::once(&*host).chain(origin.as_deref()).collect();
            let preflight = [&headers[..], &["access-control-request-method: POST"]].concat();
            let (asked, preflight) = (
                head(url, if is_api { "GET /openapi.json" } else { "GET /" }, &headers),
                head(url, "OPTIONS /", &preflight),
            );
            let is_refused = asked.starts_with("http/1.1 403");
            assert!(asked.starts_with("http/1.1 200") || is_refused, "{asked}");
            assert_eq!(preflight.starts_with("http/1.1 403"), is_refused, "{preflight}");
            if is_refused {
                assert!(!asked.contains("access-control-allow") && !preflight.contains("access-control-allow"));
            }
            !is_refused
        };
        assert!(ask(own, None));
        assert!(ask(&format!("localhost:{port}"), None));
        assert!(ask("host.docker.internal", None));
        assert!(ask(own, Some(url)));
        assert_eq!(ask(own, Some(page)), is_api);
        for foreign in ["https://evil.example", "null", "http://localhost:1", &format!("https://{own}")] {
            assert!(!ask(own, Some(foreign)), "{foreign}");
        }
        for name in [
            "evil.example",
            &format!("evil.example:{port}"),
            "127.0.0.1:1",
            "10.1.2.3",
            "",
            &format!("evil.example@{own}"),
        ] {
            assert!(!ask(name, None), "{name}");
        }
        // What a browser sends without an `Origin`: an image or a frame of another page's, and what the user has
        // clicked or typed.
        let fetch = |headers: &[&str]| {
            let host = format!("host: {own}");
            head(url, if is_api { "GET /openapi.json" } else { "GET /" }, &[&[&*host], headers].concat())
        };
        for site in ["cross-site", "same-site"].map(|site| format!("sec-fetch-site: {site}")) {
            assert!(fetch(&[&site, "sec-fetch-mode: no-cors"]).starts_with("http/1.1 403"), "{site}");
            assert!(fetch(&[&site, "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"]).starts_with("http/1.1 403"));
            assert!(
                fetch(&[&site, "sec-fetch-mode: navigate", "sec-fetch-dest: document"]).starts_with("http/1.1 200")
            );
            // A form of another page's navigates, too.
            let host = format!("host: {own}");
            let form = [&host, &site, "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
            assert!(head(url, "POST /batch", &form).starts_with("http/1.1 403"), "{site}");
            let by_page = fetch(&[&site, "sec-fetch-mode: cors", &format!("origin: {page}")]);
            assert_eq!(by_page.starts_with("http/1.1 200"), is_api, "{by_page}");
        }
        for site in ["same-origin", "none"].map(|site| format!("sec-fetch-site: {site}")) {
            assert!(fetch(&[&site, "sec-fetch-mode: cors"]).starts_with("http/1.1 200"), "{site}");
        }
        assert!(head(url, "GET /", &["x-no: host"]).starts_with("http/1.1 4"));
        assert!(head(url, "GET /", &[&format!("host: {own}"), "host: evil.example"]).starts_with("http/1.1 4"));
    }
}

#[test]
fn a_container_is_reached_by_every_address_and_port_but_by_no_name_that_is_not_allowed() {
    let run = |arguments: &[&str]| {
        let arguments = [&["dev", "--container", "--dynamodb", "0.0.0.0:0"], arguments].concat();
        Command::new(env!("CARGO_BIN_EXE_sapwood")).args(arguments).output().unwrap()
    };
    for conflicting in [&["--demo"][..], &["--endpoint", "http://127.0.0.1:1"]] {
        assert_eq!(run(conflicting).status.code(), Some(2), "{conflicting:?}");
    }
    // Nobody opens DynamoDB by accident.
    let open = ["dev", "--dynamodb", "0.0.0.0:0", "--http", "0.0.0.0:0", "--allow-remote"];
    let refused = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(open).output().unwrap();
    assert!(!refused.status.success() && String::from_utf8(refused.stderr).unwrap().contains("--container"));

    let arguments = ["--container", "--dynamodb", "0.0.0.0:0", "--http", "0.0.0.0:0", "--allow-host", "sapwood"];
    let sapwood = Sapwood::start(&arguments);
    for (url, path) in [(&sapwood.url, "/"), (sapwood.http.as_ref().unwrap(), "/")] {
        let port = url.strip_prefix("http://0.0.0.0:").unwrap();
        let ask = |headers: &[&str]| head(&format!("http://127.0.0.1:{port}"), &format!("GET {path}"), headers);
        for host in
            ["localhost:49153", "127.0.0.1:1", "172.17.0.2:8000", "[::1]:80", "192.168.1.7", "sapwood:8000", "sapwood"]
        {
            let answered = ask(&[&format!("host: {host}")]);
            assert!(answered.starts_with("http/1.1 200"), "{host}: {answered}");
        }
        for host in ["evil.example", "evil.example:8000", "sapwood.evil.example:8000", "evil", "localhost.evil.example"]
        {
            assert!(ask(&[&format!("host: {host}")]).starts_with("http/1.1 403"), "{host}");
        }
        // Its own pages are those of the address that the browser has, and no others.
        let page = |host: &str, origin: &str| ask(&[&format!("host: {host}"), &format!("origin: {origin}")]);
        assert!(page("localhost:49153", "http://localhost:49153").starts_with("http/1.1 200"));
        for origin in ["http://localhost:5173", "http://evil.example", "null", "https://localhost:49153"] {
            assert!(page("localhost:49153", origin).starts_with("http/1.1 403"), "{origin}");
        }
        let image = ["host: localhost:49153", "sec-fetch-site: cross-site", "sec-fetch-mode: no-cors"];
        assert!(ask(&image).starts_with("http/1.1 403"));
    }
}

#[test]
fn the_files_for_containers_run_what_they_say() {
    let file = |name: &str| {
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../container/").to_owned() + name).unwrap()
    };
    let list = |text: &str, key: &str| -> Vec<String> {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
        serde_json::from_str(line.trim()).unwrap()
    };
    let (image, compose) = (file("Dockerfile"), file("compose.yaml"));
    let data = tempfile::tempdir().unwrap();
    let mut words = list(&image, "ENTRYPOINT");
    words.extend(list(&compose, "command:"));
    let words: Vec<&str> =
        words.iter().map(|word| if word == "/data" { data.path().to_str().unwrap() } else { word }).collect();
    assert_eq!(words[..2], ["sapwood", "dev"]);
    // The usual ports may be in use here.
    let sapwood = Sapwood::start(&[&words[2..], &["--dynamodb", "0.0.0.0:0", "--http", "0.0.0.0:0"]].concat());
    let port = |url: &str| url.rsplit(':').next().unwrap().to_owned();
    let http = port(sapwood.http.as_ref().unwrap());
    for (url, name) in [(&sapwood.url, "sapwood:8000"), (sapwood.http.as_ref().unwrap(), "sapwood:3000")] {
        let answered = head(&format!("http://127.0.0.1:{}", port(url)), "GET /", &[&format!("host: {name}")]);
        assert!(answered.starts_with("http/1.1 200"), "{answered}");
    }
    let check = list(&compose, "test:");
    assert_eq!(check[..2], ["CMD", "sapwood"]);
    let is_healthy = |port: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        command.args(&check[2..]).args(["--http", &format!("http://127.0.0.1:{port}")]).status().unwrap().success()
    };
    assert!(is_healthy(&http) && !is_healthy("1"), "{check:?}");
    for published in
        compose.lines().filter_map(|line| line.trim().strip_prefix("- \"").filter(|port| port.contains(':')))
    {
        assert!(published.starts_with("127.0.0.1:"), "{published} is open to other machines");
    }
}

/// The first lines that `sapwood dev` prints for people, up to this one.
fn greeting(arguments: &[&str], last: &str) -> String {
    use std::io::{BufRead, BufReader};
    let mut process = Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args([&["dev", "--dynamodb", "127.0.0.1:0"], arguments].concat())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    for line in BufReader::new(process.stdout.take().unwrap()).lines() {
        text += &(line.unwrap() + "\n");
        if text.lines().next_back().unwrap().contains(last) {
            break;
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();
    text
}

#[test]
fn who_reads_that_it_listens_may_end_it_at_once() {
    use std::io::{BufRead, BufReader};
    // The example is still being written then.
    let mut process = Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args(["dev", "--json", "--dynamodb", "127.0.0.1:0", "--http", "127.0.0.1:0", "--example", "folders"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("listening"), "{line}");
    assert!(Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[test]
fn the_first_record_is_the_tenants_where_there_are_tenants() {
    let end = "--expression-attribute-values";
    let plain = greeting(&[], end);
    assert!(plain.contains(r#""PK":{"S":"first"}"#) && plain.contains(r#"":v":{"S":"first"}"#), "{plain}");
    let api = ["--http", "127.0.0.1:0", "--parameter", "TenantClaim=org"];
    for (claim, tenant) in
        [(&["--claim", "org=blue"][..], "blue"), (&["--claim", "tenant=blue"], "acme"), (&[], "acme")]
    {
        let told = greeting(&[&api, claim].concat(), end);
        for id in ["first", "second"] {
            assert!(told.contains(&format!(r#""PK":{{"S":"TENANT#{tenant}#{id}"}}"#)), "{told}");
        }
        assert!(told.contains(r#""parent":{"S":"first"}"#), "a parent is named by its id: {told}");
        assert!(told.contains(&format!(r#"":v":{{"S":"TENANT#{tenant}#first"}}"#)), "{told}");
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_reads_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("some").join("data");
    let modes = |path: &std::path::Path| {
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let files = std::fs::read_dir(path).unwrap().map(|file| file.unwrap().path());
        let files: Vec<_> = files.map(|file| (mode(&file), file.file_name().unwrap().to_owned())).collect();
        (mode(path), files)
    };
    for is_old in [false, true] {
        if is_old {
            for file in std::fs::read_dir(&data).unwrap() {
                let permissions = std::fs::Permissions::from_mode(0o644);
                std::fs::set_permissions(file.unwrap().path(), permissions).unwrap();
            }
        }
        let sapwood = Sapwood::start_on(&data, &[]);
        put(&sapwood.client, TABLE, node("root", None, "root")).await;
        sapwood.becomes_right().await;
        let (directory, files) = modes(&data);
        assert_eq!(directory, 0o700);
        assert!(files.len() >= 4 && files.iter().all(|(mode, _)| *mode == 0o600), "{is_old}: {files:?}");
        assert_eq!(sapwood.interrupt(), 0);
        let files = modes(&data).1;
        assert!(files.iter().all(|(mode, _)| *mode == 0o600), "{is_old}: {files:?}");
    }
}

#[test]
fn other_machines_reach_the_api_only_if_that_is_asked_for() {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        command.args(["dev", "--dynamodb", "127.0.0.1:0"]).args(arguments).output().unwrap()
    };
    for arguments in [["--http", "0.0.0.0:0"], ["--http", "[::]:0"]] {
        let output = run(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("--allow-remote"), "{said}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_sapwood")).args(["dev", "--dynamodb", "0.0.0.0:0"]).output().unwrap();
    assert!(!output.status.success());
    let open = Sapwood::start(&["--http", "0.0.0.0:0", "--allow-remote"]);
    let port = open.http.as_ref().unwrap().rsplit(':').next().unwrap().to_owned();
    let ask = |host: &str| head(&format!("http://127.0.0.1:{port}"), "GET /openapi.json", &[&format!("host: {host}")]);
    assert!(ask(&format!("192.168.1.7:{port}")).starts_with("http/1.1 200"));
    assert!(ask(&format!("evil.example:{port}")).starts_with("http/1.1 403"));
}
