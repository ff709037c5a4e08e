//! A proxy in front of Drawbridge that adds a client's token to each request, because the suites
//! cannot send a token. The proxy also replaces its own address in `Host` and `Origin`, and changes
//! nothing else.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
};

use drawbridge_tests::http::Url;

pub(crate) struct Forwarder {
    /// The URL of Drawbridge's endpoint through this proxy.
    pub(crate) url: String,
}

/// The settings of each connection.
#[derive(Clone)]
struct ConnectionSettings {
    proxy_authority: String,
    target_authority: String,
    token: String,
}

impl Forwarder {
    /// Starts a proxy for the endpoint at `url`. The proxy runs until the test's process ends.
    #[track_caller]
    pub(crate) fn start(url: &str, token: &str) -> Self {
        let url = Url::parse(url);
        let listener =
            TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("bind a free port");
        let proxy_authority = listener
            .local_addr()
            .expect("a bound listener has an address")
            .to_string();
        let settings = ConnectionSettings {
            proxy_authority: proxy_authority.clone(),
            target_authority: url.authority,
            token: token.to_owned(),
        };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let settings = settings.clone();
                thread::spawn(move || settings.forward_connection(&client));
            }
        });
        Self {
            url: format!("http://{proxy_authority}{}", url.path),
        }
    }
}

impl ConnectionSettings {
    /// Forwards a connection until either side closes it.
    fn forward_connection(&self, client: &TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(&self.target_authority)?;
        for stream in [client, &server] {
            stream.set_nodelay(true)?;
        }
        let (mut server_reader, mut client_writer) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            drop(io::copy(&mut server_reader, &mut client_writer));
            client_writer.shutdown(Shutdown::Both)
        });
        let mut requests = BufReader::new(client);
        let outcome = loop {
            match self.forward_request(&mut requests, &server) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        server.shutdown(Shutdown::Both)?;
        outcome
    }

    /// Forwards the next request. Returns `false` if the client has closed the connection.
    fn forward_request(
        &self,
        client: &mut BufReader<&TcpStream>,
        mut server: &TcpStream,
    ) -> io::Result<bool> {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            if client.read_line(&mut line)? == 0 {
                return Ok(false);
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "transfer-encoding" => {
                    return Err(io::Error::other(
                        "the proxy only supports requests with Content-Length",
                    ));
                }
                "host" | "origin" => {
                    line = line.replace(&self.proxy_authority, &self.target_authority)
                }
                _ => {}
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        head += &format!("Authorization: Bearer {}\r\n\r\n", self.token);
        server.write_all(head.as_bytes())?;
        io::copy(&mut client.take(length), &mut server)?;
        Ok(true)
    }
}
