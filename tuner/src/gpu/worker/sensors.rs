//! What NVML says of the clock, where there is an NVML.

use autokernel_runtime::Device;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;

/// Reasons for which a chip runs slower than its load explains. A power cap is none: it is what a large product meets in
/// use.
const FAULTS: ThrottleReasons = ThrottleReasons::HW_SLOWDOWN
    .union(ThrottleReasons::HW_THERMAL_SLOWDOWN)
    .union(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN)
    .union(ThrottleReasons::SW_THERMAL_SLOWDOWN);

/// NVML, loaded when the worker starts.
pub struct Sensors {
    nvml: Result<(Nvml, String), String>,
}

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The SM clock of this moment, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Whether heat or the power supply slow the chip down.
    pub slowed: bool,
}

impl Sensors {
    /// The sensors of `device`.
    pub fn new(device: &Device) -> Self {
        let bus = bus_id(device).ok_or_else(|| "the GPU's place on the PCI bus is not known".to_owned());
        let nvml = bus.and_then(|bus| Ok((Nvml::init().map_err(|error| error.to_string())?, bus)));
        let found = nvml.and_then(|(nvml, bus)| match nvml.device_by_pci_bus_id(bus.as_str()).map(|_| ()) {
            Ok(()) => Ok((nvml, bus)),
            Err(error) => Err(error.to_string()),
        });
        Sensors { nvml: found }
    }

    /// Why there are none, if there are none.
    pub fn missing(&self) -> Option<String> {
        self.nvml.as_ref().err().cloned()
    }

    /// What the board has taken since the driver was loaded, in millijoules.
    ///
    /// # Errors
    /// Why it is not told.
    pub fn energy_mj(&self) -> Result<u64, String> {
        let (nvml, bus) = self.nvml.as_ref().map_err(Clone::clone)?;
        let device = nvml.device_by_pci_bus_id(bus.as_str()).map_err(|error| error.to_string())?;
        device.total_energy_consumption().map_err(|error| error.to_string())
    }

    /// What they say now; nothing without NVML.
    pub fn read(&self) -> Reading {
        let Ok((nvml, bus)) = &self.nvml else { return Reading::default() };
        let Ok(device) = nvml.device_by_pci_bus_id(bus.as_str()) else { return Reading::default() };
        Reading {
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
            slowed: device.current_throttle_reasons().is_ok_and(|reasons| reasons.intersects(FAULTS)),
        }
    }
}

/// `00000000:19:00.0`: NVML and CUDA count GPUs differently, and mean the same by their place on the bus.
fn bus_id(device: &Device) -> Option<String> {
    let context = device.stream()?.context();
    let attribute = |which| context.attribute(which).ok();
    let domain = attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?;
    let bus = attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?;
    let slot = attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?;
    Some(format!("{domain:08x}:{bus:02x}:{slot:02x}.0"))
}
