//! PostgreSQL, which a user might take instead: a closure table, and paths of `ltree`. Each change and each question is
//! one round trip: the statements of a change are sent together and are one transaction. What is counted is the rows
//! that they write; the answers are compared with the model's.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::pattern::ALL;
use crate::workload::{Model, Node, TEXT, chain, tree};

/// Where Debian keeps its versions of PostgreSQL.
const VERSIONS: &str = "/usr/lib/postgresql";

/// A server of its own, on a socket in a directory of its own. It doesn't run as root.
struct Server {
    programs: PathBuf,
    directory: String,
}

impl Server {
    /// Starts a server, if PostgreSQL is installed.
    fn start() -> Option<Self> {
        let versions = std::fs::read_dir(VERSIONS).ok()?;
        let programs = versions.map(|version| version.unwrap().path().join("bin")).max()?;
        let directory = run(&["mktemp", "-d"], "");
        let server = Self { programs, directory: directory.trim().to_owned() };
        let (initdb, pg_ctl) = (server.program("initdb"), server.program("pg_ctl"));
        let directory = &server.directory;
        let data = format!("{directory}/data");
        run(&[&initdb, "-D", &data, "-A", "trust", "-U", "postgres", "--no-sync"], "");
        let options = format!("-k {directory} -c listen_addresses='' -c fsync=off");
        run(&[&pg_ctl, "-D", &data, "-l", &format!("{directory}/log"), "-w", "-o", &options, "start"], "");
        Some(server)
    }

    fn program(&self, name: &str) -> String {
        self.programs.join(name).to_str().unwrap().to_owned()
    }

    fn psql(&self, arguments: &[&str], input: &str) -> Vec<String> {
        let psql = self.program("psql");
        let to =
            ["-h", &self.directory, "-U", "postgres", "-d", "postgres", "-XAt", "-F", "|", "-v", "ON_ERROR_STOP=1"];
        let output = run(&[&[psql.as_str()], &to[..], arguments].concat(), input);
        output.lines().map(str::to_owned).collect()
    }

    /// Sends statements together. Returns the number of rows that they wrote.
    fn write(&self, sql: &str) -> u64 {
        let tags = self.psql(&["-c", sql], "");
        tags.iter().map(|tag| tag.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }

    /// Asks a question.
    fn ask(&self, sql: &str) -> Vec<String> {
        self.psql(&["-q", "-c", sql], "")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        run(&[&self.program("pg_ctl"), "-D", &format!("{}/data", self.directory), "-m", "immediate", "stop"], "");
        run(&["rm", "-rf", &self.directory], "");
    }
}

/// Runs a program, as the user `postgres` where this is root. Returns what it prints.
fn run(command: &[&str], input: &str) -> String {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let user: &[&str] = if is_root { &["runuser", "-u", "postgres", "--"] } else { &[] };
    let words = [user, command].concat();
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A way to keep trees in tables.
#[derive(Clone, Copy)]
enum Shape {
    /// A row for each pair of a node and an ancestor.
    Closure,
    /// A path for each node.
    Ltree,
}

impl Shape {
    fn tables(self) -> &'static str {
        match self {
            Self::Closure => {
                "CREATE TABLE nodes (id text PRIMARY KEY, parent text, name text, body text);
                 CREATE TABLE closure (ancestor text, id text, depth int, PRIMARY KEY (ancestor, id));
                 CREATE INDEX ON closure (id);"
            }
            Self::Ltree => {
                "CREATE EXTENSION ltree;
                 CREATE TABLE nodes (id text PRIMARY KEY, path ltree, name text, body text);
                 CREATE INDEX ON nodes USING gist (path);"
            }
        }
    }

    fn create(self, node: &Node) -> String {
        let Node { id, parent, name } = node;
        let parent = parent.as_deref().unwrap_or_default();
        match self {
            Self::Closure => format!(
                "INSERT INTO nodes VALUES ('{id}', NULLIF('{parent}', ''), '{name}', '{}');
                 INSERT INTO closure SELECT ancestor, '{id}', depth + 1 FROM closure WHERE id = '{parent}'
                 UNION ALL SELECT '{id}', '{id}', 0;",
                TEXT.replace('\'', "''")
            ),
            Self::Ltree => format!(
                "INSERT INTO nodes SELECT '{id}',
                 COALESCE((SELECT path FROM nodes WHERE id = '{parent}'), '') || '{id}', '{name}', '{}';",
                TEXT.replace('\'', "''")
            ),
        }
    }

    fn relocate(self, id: &str, parent: &str) -> String {
        match self {
            Self::Closure => format!(
                "UPDATE nodes SET parent = '{parent}' WHERE id = '{id}';
                 DELETE FROM closure WHERE id IN (SELECT id FROM closure WHERE ancestor = '{id}')
                 AND ancestor NOT IN (SELECT id FROM closure WHERE ancestor = '{id}');
                 INSERT INTO closure SELECT above.ancestor, below.id, above.depth + below.depth + 1
                 FROM closure above, closure below WHERE above.id = '{parent}' AND below.ancestor = '{id}';"
            ),
            Self::Ltree => format!(
                "UPDATE nodes SET path = parent.path || subpath(nodes.path, nlevel(moved.path) - 1)
                 FROM nodes moved, nodes parent
                 WHERE moved.id = '{id}' AND parent.id = '{parent}' AND nodes.path <@ moved.path;"
            ),
        }
    }

    fn delete(self, id: &str) -> String {
        match self {
            Self::Closure => format!(
                "DELETE FROM nodes WHERE id IN (SELECT id FROM closure WHERE ancestor = '{id}');
                 DELETE FROM closure WHERE id IN (SELECT id FROM closure WHERE ancestor = '{id}');"
            ),
            Self::Ltree => format!("DELETE FROM nodes WHERE path <@ (SELECT path FROM nodes WHERE id = '{id}');"),
        }
    }

    fn below(self, id: &str, from: usize, to: usize) -> String {
        match self {
            Self::Closure => format!(
                "SELECT id, name FROM closure JOIN nodes USING (id)
                 WHERE ancestor = '{id}' AND depth BETWEEN {from} AND {to}"
            ),
            Self::Ltree => format!(
                "SELECT nodes.id, nodes.name FROM nodes, nodes top WHERE top.id = '{id}' AND nodes.path <@ top.path
                 AND nlevel(nodes.path) - nlevel(top.path) BETWEEN {from} AND {to}"
            ),
        }
    }

    fn ancestors(self, id: &str) -> String {
        match self {
            Self::Closure => {
                format!("SELECT ancestor FROM closure WHERE id = '{id}' AND depth > 0 ORDER BY depth")
            }
            Self::Ltree => format!(
                "SELECT above.id FROM nodes above, nodes WHERE nodes.id = '{id}' AND above.path @> nodes.path
                 AND above.id <> nodes.id ORDER BY nlevel(above.path) DESC"
            ),
        }
    }
}

/// What one shape took.
#[derive(Debug)]
pub struct Postgres {
    /// The version of the server.
    pub version: String,
    /// The number of rows that each change wrote.
    pub written: Vec<(&'static str, u64)>,
    /// The bytes of the tables and their indexes, a node of the tree that is read.
    pub bytes_a_node: u64,
}

/// Makes the changes and asks the questions in both shapes, the closure table first. None if PostgreSQL isn't
/// installed.
///
/// # Panics
/// If an answer isn't the model's.
#[must_use]
pub fn postgres() -> Option<[Postgres; 2]> {
    Some([measure(Shape::Closure)?, measure(Shape::Ltree)?])
}

fn measure(shape: Shape) -> Option<Postgres> {
    let server = Server::start()?;
    let load = |nodes: &[Node]| {
        let statements: String = nodes.iter().map(|node| shape.create(node)).collect();
        server.psql(&["-q", "-1", "-f", "-"], &statements);
    };
    server.psql(&["-q", "-f", "-"], shape.tables());
    let nodes = tree("t", 1_111, 10, None);
    load(&nodes);
    server.ask("VACUUM ANALYZE");
    let bytes = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname IN ('nodes', 'closure')";
    let bytes_a_node = server.ask(bytes)[0].parse::<u64>().unwrap() / nodes.len() as u64;
    let moved = tree("m", 1_000, 6, Some("c3"));
    let others = [chain("c", 64), chain("d", 4), moved].concat();
    load(&others);
    let mut model = Model::of(&[nodes, others].concat());

    let mut written = Vec::new();
    for (name, parent) in [("a create below 1 ancestor", "c0"), ("a create below 64 ancestors", "c63")] {
        let node = Node::new(format!("new{parent}"), Some(parent));
        written.push((name, server.write(&shape.create(&node))));
        model.0.insert(node.id.clone(), node);
    }
    written.push(("a rename", server.write("UPDATE nodes SET name = 'another name' WHERE id = 'm0';")));
    model.0.get_mut("m0").unwrap().name = "another name".to_owned();
    written.push(("a move of 1,000 nodes", server.write(&shape.relocate("m0", "d3"))));
    model.relocate("m0", "d3");
    for (id, from, to) in [("t0", 1, 1), ("t0", 1, 2), ("t0", 3, 3), ("t0", 1, ALL), ("c0", 1, ALL), ("d0", 1, ALL)] {
        let rows = server.ask(&shape.below(id, from, to));
        let found = rows.iter().map(|row| row.split_once('|').unwrap()).map(|(id, name)| (id.into(), name.into()));
        assert_eq!(found.collect::<std::collections::BTreeMap<String, String>>(), model.below(id, from..=to));
    }
    for id in ["t1110", "c63", "m999"] {
        assert_eq!(server.ask(&shape.ancestors(id)), model.ancestors(id));
    }
    written.push(("a delete of 1,000 nodes", server.write(&shape.delete("m0"))));
    model.delete("m0");
    assert_eq!(server.ask(&shape.below("d0", 1, ALL)).len(), model.below("d0", 1..=ALL).len());
    let version = server.ask("SHOW server_version")[0].clone();
    Some(Postgres { version, written, bytes_a_node })
}
