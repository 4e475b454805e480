//! A way to the server that can be cut.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Passes bytes on to a port of this machine, unless it is cut: then they wait, as on a network that is down.
pub struct Proxy {
    pub port: u16,
    cut: Arc<AtomicBool>,
}

impl Proxy {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, cut) = (listener.local_addr().unwrap().port(), Arc::new(AtomicBool::new(false)));
        let of_thread = Arc::clone(&cut);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                pass(near.try_clone().unwrap(), far.try_clone().unwrap(), Arc::clone(&of_thread));
                pass(far, near, Arc::clone(&of_thread));
            }
        });
        Proxy { port, cut }
    }

    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, cut: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 16384];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            while cut.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
        let _ = from.shutdown(std::net::Shutdown::Both);
    });
}
